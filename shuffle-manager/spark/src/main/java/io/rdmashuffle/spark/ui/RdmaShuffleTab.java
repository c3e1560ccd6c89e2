package io.rdmashuffle.spark.ui;

import com.fasterxml.jackson.databind.ObjectMapper;
import jakarta.servlet.http.HttpServletRequest;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.ui.SparkUI;
import org.apache.spark.ui.SparkUITab;
import org.apache.spark.ui.WebUIPage;
import org.json4s.JValue;
import org.json4s.jackson.JsonMethods$;
import scala.collection.immutable.Seq;
import scala.xml.Node;
import scala.xml.Unparsed;

/** {@code <ui>/rdma-shuffle/} for people, {@code <ui>/rdma-shuffle/json/} for programs. On threads of the web server. */
public final class RdmaShuffleTab extends SparkUITab {

    private static final ObjectMapper JSON = new ObjectMapper();

    private RdmaShuffleTab(SparkUI ui, Supplier<ReportSummary> summary) {
        super(ui, "rdma-shuffle");
        attachPage(new Page(this, summary));
    }

    @Override
    public String name() {
        return "RDMA Shuffle";
    }

    /** @param now what is not in the store yet; asked at every view */
    public static void attach(SparkUI ui, Supplier<List<ShuffleReport>> now) {
        ui.attachTab(new RdmaShuffleTab(ui, () -> summary(ui, now)));
    }

    private static ReportSummary summary(SparkUI ui, Supplier<List<ShuffleReport>> now) {
        List<ShuffleReport> reports = ReportStore.read(ui.store().store());
        reports.addAll(now.get());
        return ReportSummary.of(reports);
    }

    private static final class Page extends WebUIPage {

        private final RdmaShuffleTab tab;
        private final Supplier<ReportSummary> summary;

        Page(RdmaShuffleTab tab, Supplier<ReportSummary> summary) {
            super("");
            this.tab = tab;
            this.summary = summary;
        }

        @Override
        public Seq<Node> render(HttpServletRequest request) {
            Node content = new Unparsed(ReportHtml.of(summary.get()));
            return UiCompat.page(request, tab.name(), content, tab);
        }

        @Override
        public JValue renderJson(HttpServletRequest request) {
            return JsonMethods$.MODULE$.fromJsonNode(
                    JSON.valueToTree(summary.get().toMap()));
        }
    }
}
