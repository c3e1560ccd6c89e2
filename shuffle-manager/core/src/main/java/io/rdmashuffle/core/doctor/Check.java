package io.rdmashuffle.core.doctor;

import java.util.function.BiFunction;

/**
 * One thing to look at.
 *
 * @param name as in {@link Finding#check}
 * @param need what must be there before it can be looked at
 * @param look looks at it; is given the name to put into the finding
 */
record Check(String name, Need need, BiFunction<String, Examination, Finding> look) {

    /** Each includes those before it. */
    enum Need {
        NOTHING,
        DEVICE,
        ENDPOINT
    }

    Finding run(Examination examination) {
        return switch (need) {
            case NOTHING -> look.apply(name, examination);
            case DEVICE ->
                examination.devices().isEmpty() ? Finding.skip(name, "needs a device") : look.apply(name, examination);
            case ENDPOINT ->
                examination.endpoint() == null
                        ? Finding.skip(name, "needs an address with a device")
                        : look.apply(name, examination);
        };
    }
}
