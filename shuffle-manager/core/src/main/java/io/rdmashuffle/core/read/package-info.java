/** The read walk: locate, plan, post, complete, deliver. */
package io.rdmashuffle.core.read;
