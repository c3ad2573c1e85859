package dev.stateward.sandbox.definitions;

import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.lucene.analysis.TokenFilter;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.pattern.PatternCaptureGroupTokenFilter;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.index.analysis.AbstractTokenFilterFactory;

/** The filters of text analysis that Elasticsearch's index of roles and users needs, whose module nothing has. */
final class Analysis {
    private Analysis() {}

    /** Splits terms by patterns. */
    static final class Capture extends AbstractTokenFilterFactory {
        private final boolean original;
        private final Pattern[] patterns;

        Capture(String name, Settings settings) {
            super(name, settings);
            original = settings.getAsBoolean("preserve_original", true);
            patterns = settings.getAsList("patterns").stream().map(Pattern::compile).toArray(Pattern[]::new);
        }

        @Override
        public TokenStream create(TokenStream input) {
            return new PatternCaptureGroupTokenFilter(input, original, patterns);
        }
    }

    /** Lets each term through once. */
    static final class Unique extends TokenFilter {
        private final CharTermAttribute term = addAttribute(CharTermAttribute.class);
        private final Set<String> seen = new HashSet<>();

        Unique(TokenStream input) {
            super(input);
        }

        @Override
        public boolean incrementToken() throws IOException {
            while (input.incrementToken()) {
                if (seen.add(term.toString())) {
                    return true;
                }
            }
            return false;
        }

        @Override
        public void reset() throws IOException {
            super.reset();
            seen.clear();
        }
    }
}
