package dev.stateward.sandbox.definitions;

import java.io.IOException;
import org.elasticsearch.xcontent.ToXContentObject;
import org.elasticsearch.xcontent.XContentParser;

/**
 * One kind of definition.
 *
 * @param path where its definitions are, without their names
 * @param put whether a PUT replaces a definition that exists; otherwise it is refused
 * @param read reads a new definition; the second argument is its name
 * @param update changes a definition by the body of a POST to `_update`; null if there is no such request
 * @param answer the whole answer to a GET of one
 */
record Kind<T>(String path, boolean put, Read<T> read, Update<T> update, Answer<T> answer) {
    interface Read<T> {
        T from(XContentParser parser, String name) throws IOException;
    }

    interface Update<T> {
        T of(T before, XContentParser parser, String name) throws IOException;
    }

    interface Answer<T> {
        ToXContentObject to(T stored, String name, long version);
    }
}
