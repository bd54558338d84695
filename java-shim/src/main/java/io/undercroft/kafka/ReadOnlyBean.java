package io.undercroft.kafka;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.ReflectionException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A bean that only shows values. */
abstract class ReadOnlyBean implements DynamicMBean {
    private static final Logger LOG = LoggerFactory.getLogger(ReadOnlyBean.class);

    private final List<MBeanAttributeInfo> attributes = new ArrayList<>();

    /** Filled before the bean is registered, and never changed afterwards. */
    final List<MBeanAttributeInfo> attributes() {
        return attributes;
    }

    /** All of them as of now. */
    abstract Map<String, Object> values() throws NativeException;

    abstract String description();

    @Override
    public final Object getAttribute(String attribute) throws AttributeNotFoundException, ReflectionException {
        Object value = read().get(attribute);
        if (value == null) {
            throw new AttributeNotFoundException(attribute);
        }
        return value;
    }

    @Override
    public final AttributeList getAttributes(String[] names) {
        AttributeList list = new AttributeList();
        try {
            Map<String, Object> values = read();
            for (String name : names) {
                if (values.containsKey(name)) {
                    list.add(new Attribute(name, values.get(name)));
                }
            }
        } catch (ReflectionException failed) {
            LOG.debug("Metrics could not be read", failed);
        }
        return list;
    }

    private Map<String, Object> read() throws ReflectionException {
        try {
            return values();
        } catch (NativeException failed) {
            throw new ReflectionException(new IllegalStateException(failed.toString()));
        }
    }

    @Override
    public final void setAttribute(Attribute attribute) throws AttributeNotFoundException {
        throw new AttributeNotFoundException(attribute.getName() + " is read-only");
    }

    @Override
    public final AttributeList setAttributes(AttributeList list) {
        return new AttributeList();
    }

    @Override
    public final Object invoke(String action, Object[] parameters, String[] signature) throws ReflectionException {
        throw new ReflectionException(new NoSuchMethodException(action));
    }

    @Override
    public final MBeanInfo getMBeanInfo() {
        return new MBeanInfo(getClass().getName(), description(), attributes.toArray(new MBeanAttributeInfo[0]), null, null, null);
    }
}
