package org.opensearch.plugins;

/** What the compiler has to know of OpenSearch's interface of this name, and not packed. */
public interface ExtensiblePlugin {}
