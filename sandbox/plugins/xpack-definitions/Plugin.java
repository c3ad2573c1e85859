package dev.stateward.sandbox.definitions;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.lucene.analysis.email.UAX29URLEmailTokenizer;
import org.elasticsearch.cluster.metadata.IndexNameExpressionResolver;
import org.elasticsearch.cluster.node.DiscoveryNodes;
import org.elasticsearch.common.io.stream.NamedWriteableRegistry;
import org.elasticsearch.common.settings.ClusterSettings;
import org.elasticsearch.common.settings.IndexScopedSettings;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.common.settings.SettingsFilter;
import org.elasticsearch.core.CheckedFunction;
import org.elasticsearch.features.NodeFeature;
import org.elasticsearch.index.analysis.PreConfiguredTokenFilter;
import org.elasticsearch.index.analysis.PreConfiguredTokenizer;
import org.elasticsearch.index.analysis.TokenFilterFactory;
import org.elasticsearch.indices.analysis.AnalysisModule;
import org.elasticsearch.plugins.ActionPlugin;
import org.elasticsearch.plugins.AnalysisPlugin;
import org.elasticsearch.rest.RestController;
import org.elasticsearch.rest.RestHandler;
import org.elasticsearch.xcontent.NamedXContentRegistry;
import org.elasticsearch.xcontent.ParseField;
import org.elasticsearch.xcontent.XContentParser;
import org.elasticsearch.xpack.core.ilm.AllocateAction;
import org.elasticsearch.xpack.core.ilm.DeleteAction;
import org.elasticsearch.xpack.core.ilm.DownsampleAction;
import org.elasticsearch.xpack.core.ilm.ForceMergeAction;
import org.elasticsearch.xpack.core.ilm.FreezeAction;
import org.elasticsearch.xpack.core.ilm.LifecycleAction;
import org.elasticsearch.xpack.core.ilm.LifecycleType;
import org.elasticsearch.xpack.core.ilm.MigrateAction;
import org.elasticsearch.xpack.core.ilm.ReadOnlyAction;
import org.elasticsearch.xpack.core.ilm.RolloverAction;
import org.elasticsearch.xpack.core.ilm.SearchableSnapshotAction;
import org.elasticsearch.xpack.core.ilm.SetPriorityAction;
import org.elasticsearch.xpack.core.ilm.ShrinkAction;
import org.elasticsearch.xpack.core.ilm.TimeseriesLifecycleType;
import org.elasticsearch.xpack.core.ilm.UnfollowAction;
import org.elasticsearch.xpack.core.ilm.WaitForSnapshotAction;
import org.elasticsearch.xpack.core.ml.dataframe.analyses.MlDataFrameAnalysisNamedXContentProvider;
import org.elasticsearch.xpack.core.transform.TransformNamedXContentProvider;

/**
 * The endpoints of policies, transforms and definitions of machine learning, whose modules no package registry has.
 *
 * <p>Elasticsearch's own classes read, check, change and print each definition: they are in its module x-pack-core. Only
 * the routes and the memory of the node that keeps the definitions are ours, and nothing runs them.
 *
 * <p>It also has the parts of text analysis without which Elasticsearch stores no role and no user.
 */
public final class Plugin extends org.elasticsearch.plugins.Plugin implements ActionPlugin, AnalysisPlugin {
    @Override
    public Collection<RestHandler> getRestHandlers(
            Settings settings,
            NamedWriteableRegistry writeables,
            RestController controller,
            ClusterSettings clusterSettings,
            IndexScopedSettings indexSettings,
            SettingsFilter filter,
            IndexNameExpressionResolver resolver,
            Supplier<DiscoveryNodes> nodes,
            Predicate<NodeFeature> features) {
        return new ArrayList<>(Kinds.all().stream().map(Endpoint::new).toList());
    }

    @Override
    public Map<String, AnalysisModule.AnalysisProvider<TokenFilterFactory>> getTokenFilters() {
        return Map.of("pattern_capture", (index, environment, name, settings) -> new Analysis.Capture(name, settings));
    }

    @Override
    public List<PreConfiguredTokenFilter> getPreConfiguredTokenFilters() {
        return List.of(PreConfiguredTokenFilter.singleton("unique", false, Analysis.Unique::new));
    }

    @Override
    public List<PreConfiguredTokenizer> getPreConfiguredTokenizers() {
        return List.of(PreConfiguredTokenizer.singleton("uax_url_email", UAX29URLEmailTokenizer::new));
    }

    @Override
    public List<NamedXContentRegistry.Entry> getNamedXContent() {
        List<NamedXContentRegistry.Entry> entries = new ArrayList<>();
        entries.addAll(new TransformNamedXContentProvider().getNamedXContentParsers());
        entries.addAll(new MlDataFrameAnalysisNamedXContentProvider().getNamedXContentParsers());
        ParseField type = new ParseField(TimeseriesLifecycleType.TYPE);
        entries.add(new NamedXContentRegistry.Entry(LifecycleType.class, type, p -> TimeseriesLifecycleType.INSTANCE));
        action(entries, AllocateAction.NAME, AllocateAction::parse);
        action(entries, DeleteAction.NAME, DeleteAction::parse);
        action(entries, DownsampleAction.NAME, DownsampleAction::parse);
        action(entries, ForceMergeAction.NAME, ForceMergeAction::parse);
        action(entries, FreezeAction.NAME, FreezeAction::parse);
        action(entries, MigrateAction.NAME, MigrateAction::parse);
        action(entries, ReadOnlyAction.NAME, ReadOnlyAction::parse);
        action(entries, RolloverAction.NAME, RolloverAction::parse);
        action(entries, SearchableSnapshotAction.NAME, SearchableSnapshotAction::parse);
        action(entries, SetPriorityAction.NAME, SetPriorityAction::parse);
        action(entries, ShrinkAction.NAME, ShrinkAction::parse);
        action(entries, UnfollowAction.NAME, UnfollowAction::parse);
        action(entries, WaitForSnapshotAction.NAME, WaitForSnapshotAction::parse);
        return entries;
    }

    private static void action(
            List<NamedXContentRegistry.Entry> entries,
            String name,
            CheckedFunction<XContentParser, LifecycleAction, java.io.IOException> parse) {
        entries.add(new NamedXContentRegistry.Entry(LifecycleAction.class, new ParseField(name), parse));
    }
}
