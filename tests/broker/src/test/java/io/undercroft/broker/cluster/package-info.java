/** Tests on a cluster of stock brokers: {@code make test-cluster}. Each starts its own; none runs beside another. */
package io.undercroft.broker.cluster;
