/**
 * Managers that stand between a broker and Undercroft's and can be told to stop at a named step.
 *
 * <p>They run inside the broker, and the test outside: what one tells the other are files in a folder.
 */
package io.undercroft.broker.gate;
