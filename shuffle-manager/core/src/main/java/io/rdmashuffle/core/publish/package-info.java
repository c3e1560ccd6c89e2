/** The write walk: map, register and publish committed map outputs. */
package io.rdmashuffle.core.publish;
