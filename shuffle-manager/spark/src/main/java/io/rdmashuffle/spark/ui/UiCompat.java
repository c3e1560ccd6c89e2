package io.rdmashuffle.spark.ui;

import jakarta.servlet.http.HttpServletRequest;
import java.lang.reflect.Method;
import java.util.Arrays;
import org.apache.spark.ui.SparkUITab;
import org.apache.spark.ui.UIUtils$;
import org.apache.spark.ui.WebUIPage;
import scala.Function0;
import scala.collection.immutable.Seq;
import scala.xml.Node;

/** What differs in the UI of the Spark versions. */
public final class UiCompat {

    /** Seven parameters up to Spark 4.1, eight from 4.2; those from the fifth on have defaults. */
    private static final Method HEADER = method(UIUtils$.class, "headerSparkPage");

    private UiCompat() {}

    /** Whether pages can be added: Spark 3.5 has pages of javax.servlet, for which this jar has none. */
    public static boolean supportsPages() {
        return method(WebUIPage.class, "render")
                .getParameterTypes()[0]
                .getName()
                .startsWith("jakarta.");
    }

    @SuppressWarnings("unchecked")
    static Seq<Node> page(HttpServletRequest request, String title, Node content, SparkUITab tab) {
        Object[] arguments = new Object[HEADER.getParameterCount()];
        arguments[0] = request;
        arguments[1] = title;
        arguments[2] = (Function0<Seq<Node>>) () -> content;
        arguments[3] = tab;
        try {
            for (int i = 4; i < arguments.length; i++) {
                arguments[i] = method(UIUtils$.class, "headerSparkPage$default$" + (i + 1))
                        .invoke(UIUtils$.MODULE$);
            }
            return (Seq<Node>) HEADER.invoke(UIUtils$.MODULE$, arguments);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this version of Spark has a UI that rdma-shuffle does not know", e);
        }
    }

    private static Method method(Class<?> type, String name) {
        return Arrays.stream(type.getMethods())
                .filter(method -> method.getName().equals(name))
                .findFirst()
                .orElseThrow();
    }
}
