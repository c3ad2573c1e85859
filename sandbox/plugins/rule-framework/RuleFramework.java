package dev.stateward.sandbox.rules;

import org.opensearch.plugins.ExtensiblePlugin;
import org.opensearch.plugins.Plugin;

/** Stands in for the module rule-framework: the security plug-in may extend it, and it does nothing. */
public final class RuleFramework extends Plugin implements ExtensiblePlugin {}
