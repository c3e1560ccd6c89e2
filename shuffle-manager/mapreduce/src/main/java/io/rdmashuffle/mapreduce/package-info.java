/** Hadoop MapReduce's shuffle over RDMA: the NodeManager's service and the reduce task's fetch. */
package io.rdmashuffle.mapreduce;
