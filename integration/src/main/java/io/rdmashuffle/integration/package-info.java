/**
 * What runs the product on real engines: TPC-DS data and queries, the job that runs them under one shuffle manager, and the
 * comparison and report of two such runs. {@code bin/demo} ties them together.
 */
package io.rdmashuffle.integration;
