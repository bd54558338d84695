/**
 * A harness that starts unmodified Apache Kafka brokers and object stores as processes, drives them with Kafka's own
 * clients, and looks at what is left in the store.
 *
 * <p>It knows the plugin only by what an operator writes into {@code server.properties} ({@link
 * io.undercroft.broker.Managers}), so the same code runs against Kafka's own stand-ins.
 */
package io.undercroft.broker;
