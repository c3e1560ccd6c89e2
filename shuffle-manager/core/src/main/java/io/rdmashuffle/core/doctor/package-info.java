/** The doctor: says whether a host can do RDMA shuffle, and check by check why not and what helps. */
package io.rdmashuffle.core.doctor;
