package io.rdmashuffle.spark;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** native ← core ← engines: what docs/architecture.md says of the modules, held. */
@AnalyzeClasses(packages = "io.rdmashuffle", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

    @ArchTest
    static final ArchRule verbs_know_nothing_above_them = noClasses()
            .that()
            .resideInAPackage("io.rdmashuffle.verbs..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.rdmashuffle.core..", "io.rdmashuffle.spark..", "org.apache..");

    @ArchTest
    static final ArchRule core_knows_no_engine = noClasses()
            .that()
            .resideInAPackage("io.rdmashuffle.core..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                    "io.rdmashuffle.spark..",
                    "io.rdmashuffle.mapreduce..",
                    "org.apache.spark..",
                    "org.apache.hadoop..",
                    "scala..");

    @ArchTest
    static final ArchRule packages_of_core_form_no_circle =
            slices().matching("io.rdmashuffle.core.(*)..").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule what_runs_in_the_nodemanager_needs_no_more_of_spark_than_its_network_libraries = noClasses()
            .that()
            .resideInAPackage("io.rdmashuffle.spark.yarn..")
            .should()
            .dependOnClassesThat(resideInAnyPackage("scala..", "com.esotericsoftware..", "io.rdmashuffle.spark")
                    .or(resideInAPackage("org.apache.spark..")
                            .and(not(resideInAPackage("org.apache.spark.network..")))));
}
