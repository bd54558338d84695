package io.undercroft.kafka;

/** The two managers, as far as opening and closing them is alike. */
enum Side {
    STORAGE(0, "storage") {
        @Override
        long open(long config) throws NativeException {
            return NativeStorage.open(config);
        }

        @Override
        long metrics(long handle) throws NativeException {
            return NativeStorage.metrics(handle);
        }

        @Override
        void close(long handle, int timeoutMs) throws NativeException {
            NativeStorage.close(handle, timeoutMs);
        }

        @Override
        void free(long handle) {
            NativeStorage.free(handle);
        }
    },
    METADATA(1, "metadata") {
        @Override
        long open(long config) throws NativeException {
            return NativeMetadata.open(config);
        }

        @Override
        long metrics(long handle) throws NativeException {
            return NativeMetadata.metrics(handle);
        }

        @Override
        void close(long handle, int timeoutMs) throws NativeException {
            NativeMetadata.close(handle, timeoutMs);
        }

        @Override
        void free(long handle) {
            NativeMetadata.free(handle);
        }
    };

    /** The ABI's number of this side. */
    final int number;
    /** Its name in JMX and in messages. */
    final String title;

    Side(int number, String title) {
        this.number = number;
        this.title = title;
    }

    abstract long open(long config) throws NativeException;

    abstract long metrics(long handle) throws NativeException;

    abstract void close(long handle, int timeoutMs) throws NativeException;

    abstract void free(long handle);
}
