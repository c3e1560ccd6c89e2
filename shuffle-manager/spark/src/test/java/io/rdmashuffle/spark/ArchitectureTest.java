package io.rdmashuffle.spark;

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
}
