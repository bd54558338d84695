package io.undercroft.broker;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The broker's log configuration: INFO for all, DEBUG for the plugin, to the process's output. */
final class LogSettings {
    private LogSettings() {}

    static List<String> log4j2(Path folder) throws IOException {
        Path file = folder.resolve("log4j2.xml");
        Files.writeString(file, """
                <?xml version="1.0" encoding="UTF-8"?>
                <Configuration status="WARN">
                  <Appenders>
                    <Console name="out" target="SYSTEM_OUT"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console>
                  </Appenders>
                  <Loggers>
                    <Root level="INFO"><AppenderRef ref="out"/></Root>
                    <Logger name="io.undercroft" level="DEBUG"/>
                    <Logger name="undercroft" level="DEBUG"/>
                  </Loggers>
                </Configuration>
                """);
        return List.of("-Dlog4j2.configurationFile=" + file);
    }

    static List<String> log4j1(Path folder) throws IOException {
        Path file = folder.resolve("log4j.properties");
        Files.writeString(file, """
                log4j.rootLogger=INFO, out
                log4j.logger.io.undercroft=DEBUG
                log4j.logger.undercroft=DEBUG
                log4j.appender.out=org.apache.log4j.ConsoleAppender
                log4j.appender.out.layout=org.apache.log4j.PatternLayout
                log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
                """);
        return List.of("-Dlog4j.configuration=file:" + file);
    }
}
