package org.opensearch.plugins;

/** What the compiler has to know of OpenSearch's class of this name, and not packed. */
public abstract class Plugin {}
