package io.rdmashuffle.integration.bench;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import scala.reflect.ClassTag;

/**
 * Records of an int and bytes, as they are: the least a serializer can cost, so that the shuffle is seen and not the serializer. Ends
 * a stream by an EOFException as Spark SQL's does.
 */
public final class RawSerializer extends Serializer implements Serializable {

    private static final long serialVersionUID = 1;

    @Override
    public SerializerInstance newInstance() {
        return new Instance();
    }

    @Override
    public boolean supportsRelocationOfSerializedObjects() {
        return true;
    }

    private static final class Instance extends SerializerInstance {

        @Override
        public SerializationStream serializeStream(OutputStream out) {
            return new Output(new DataOutputStream(out));
        }

        @Override
        public DeserializationStream deserializeStream(InputStream in) {
            return new Input(new DataInputStream(in));
        }

        @Override
        public <T> ByteBuffer serialize(T object, ClassTag<T> type) {
            throw new UnsupportedOperationException("a shuffle serializes streams only");
        }

        @Override
        public <T> T deserialize(ByteBuffer bytes, ClassTag<T> type) {
            throw new UnsupportedOperationException("a shuffle serializes streams only");
        }

        @Override
        public <T> T deserialize(ByteBuffer bytes, ClassLoader loader, ClassTag<T> type) {
            throw new UnsupportedOperationException("a shuffle serializes streams only");
        }
    }

    private static final class Output extends SerializationStream {

        private final DataOutputStream out;

        Output(DataOutputStream out) {
            this.out = out;
        }

        @Override
        public <T> SerializationStream writeObject(T object, ClassTag<T> type) {
            try {
                if (object instanceof byte[] bytes) {
                    out.writeInt(bytes.length);
                    out.write(bytes);
                } else {
                    out.writeInt((Integer) object);
                }
                return this;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void flush() {
            try {
                out.flush();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void close() {
            try {
                out.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static final class Input extends DeserializationStream {

        private final DataInputStream in;
        private boolean atValue;

        Input(DataInputStream in) {
            this.in = in;
        }

        @Override
        @SuppressWarnings("unchecked") // keys and values alternate
        public <T> T readObject(ClassTag<T> type) {
            try {
                int number = in.readInt();
                atValue = !atValue;
                return (T) (atValue ? (Object) number : readBytes(number));
            } catch (EOFException e) {
                throw sneaky(e);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private byte[] readBytes(int length) throws IOException {
            byte[] bytes = new byte[length];
            in.readFully(bytes);
            return bytes;
        }

        @Override
        public void close() {
            try {
                in.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** Spark's iterators want the very EOFException, which Scala need not declare. */
        @SuppressWarnings("unchecked")
        private static <E extends Throwable> RuntimeException sneaky(Throwable e) throws E {
            throw (E) e;
        }
    }
}
