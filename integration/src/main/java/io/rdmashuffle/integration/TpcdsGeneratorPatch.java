package io.rdmashuffle.integration;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import org.apache.xbean.asm9.ClassReader;
import org.apache.xbean.asm9.ClassVisitor;
import org.apache.xbean.asm9.ClassWriter;
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;

/**
 * Copies the generator's jar with two changes: {@code TpcdsGeneratorPatch FROM TO}. The seed, a constant in it, becomes the one that
 * Spark's golden results were made with ({@code dsdgen -RNGSEED 100}), so that these hold for our data. And decimals become text by
 * arithmetic: {@link String#format} took more than half of its time.
 */
public final class TpcdsGeneratorPatch {

    private static final Integer ITS_SEED = 19620718;
    private static final Integer SPARKS_SEED = 100;
    private static final String STREAM = "io/trino/tpcds/random/RandomNumberStreamImpl";
    private static final String DECIMAL = "io/trino/tpcds/type/Decimal";
    private static final String BIG_DECIMAL = BigDecimal.class.getName().replace('.', '/');

    private TpcdsGeneratorPatch() {}

    public static void main(String[] args) throws IOException {
        try (JarFile from = new JarFile(args[0]);
                JarOutputStream to = new JarOutputStream(Files.newOutputStream(Path.of(args[1])));
                Stream<JarEntry> entries = from.stream()) {
            for (JarEntry entry : entries.toList()) {
                to.putNextEntry(new JarEntry(entry.getName()));
                to.write(patched(entry.getName(), from.getInputStream(entry).readAllBytes()));
            }
        }
    }

    private static byte[] patched(String name, byte[] bytes) {
        return switch (name) {
            case STREAM + ".class" -> rewritten(bytes, OtherSeed::new);
            case DECIMAL + ".class" -> rewritten(bytes, PlainText::new);
            default -> bytes;
        };
    }

    private interface Change {
        ClassVisitor into(ClassWriter writer);
    }

    private static byte[] rewritten(byte[] bytes, Change change) {
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        new ClassReader(bytes).accept(change.into(writer), 0);
        return writer.toByteArray();
    }

    private static final class OtherSeed extends ClassVisitor {

        OtherSeed(ClassWriter writer) {
            super(Opcodes.ASM9, writer);
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String type, String signature, String[] exceptions) {
            return new MethodVisitor(api, super.visitMethod(access, name, type, signature, exceptions)) {
                @Override
                public void visitLdcInsn(Object constant) {
                    super.visitLdcInsn(ITS_SEED.equals(constant) ? SPARKS_SEED : constant);
                }
            };
        }
    }

    /** {@code toString} becomes {@code BigDecimal.valueOf(number, precision).toPlainString()}. */
    private static final class PlainText extends ClassVisitor {

        PlainText(ClassWriter writer) {
            super(Opcodes.ASM9, writer);
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String type, String signature, String[] exceptions) {
            return name.equals("toString") ? null : super.visitMethod(access, name, type, signature, exceptions);
        }

        @Override
        public void visitEnd() {
            MethodVisitor text = super.visitMethod(Opcodes.ACC_PUBLIC, "toString", "()Ljava/lang/String;", null, null);
            text.visitCode();
            text.visitVarInsn(Opcodes.ALOAD, 0);
            text.visitFieldInsn(Opcodes.GETFIELD, DECIMAL, "number", "J");
            text.visitVarInsn(Opcodes.ALOAD, 0);
            text.visitFieldInsn(Opcodes.GETFIELD, DECIMAL, "precision", "I");
            text.visitMethodInsn(Opcodes.INVOKESTATIC, BIG_DECIMAL, "valueOf", "(JI)L" + BIG_DECIMAL + ";", false);
            text.visitMethodInsn(Opcodes.INVOKEVIRTUAL, BIG_DECIMAL, "toPlainString", "()Ljava/lang/String;", false);
            text.visitInsn(Opcodes.ARETURN);
            text.visitMaxs(0, 0);
            text.visitEnd();
            super.visitEnd();
        }
    }
}
