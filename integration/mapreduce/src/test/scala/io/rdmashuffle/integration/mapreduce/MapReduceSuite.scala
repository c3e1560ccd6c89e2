package io.rdmashuffle.integration.mapreduce

/** Jobs whose every segment is read over RDMA give, byte for byte, what the stock shuffle gives. */
class MapReduceSuite extends YarnCluster {

  test("words are counted with a combiner, sorted by a comparator, and two partitions are empty") {
    val input = text(files = 4, lines = 20000)
    val stock = run(WordCount.job(_, input, _, 4))
    val read = run(WordCount.job(_, input, _, 4), ours, required)
    read.assertAllByRdma()
    assert(read.files == stock.files)
    assert(read.files.size == 4 && read.files("part-r-00000").isEmpty)
  }
}
