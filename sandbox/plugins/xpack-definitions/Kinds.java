package dev.stateward.sandbox.definitions;

import java.io.IOException;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.elasticsearch.action.ActionRequestValidationException;
import org.elasticsearch.action.support.IndicesOptions;
import org.elasticsearch.cluster.ClusterState;
import org.elasticsearch.cluster.metadata.ItemUsage;
import org.elasticsearch.common.unit.ByteSizeValue;
import org.elasticsearch.common.xcontent.ChunkedToXContent;
import org.elasticsearch.core.TimeValue;
import org.elasticsearch.xpack.core.action.util.QueryPage;
import org.elasticsearch.xpack.core.enrich.EnrichPolicy;
import org.elasticsearch.xpack.core.enrich.action.GetEnrichPolicyAction;
import org.elasticsearch.xpack.core.ilm.LifecyclePolicy;
import org.elasticsearch.xpack.core.ilm.action.GetLifecycleAction;
import org.elasticsearch.xpack.core.ilm.action.PutLifecycleRequest;
import org.elasticsearch.xpack.core.ml.MlConfigVersion;
import org.elasticsearch.xpack.core.ml.action.GetCalendarsAction;
import org.elasticsearch.xpack.core.ml.action.GetDataFrameAnalyticsAction;
import org.elasticsearch.xpack.core.ml.action.GetDatafeedsAction;
import org.elasticsearch.xpack.core.ml.action.GetFiltersAction;
import org.elasticsearch.xpack.core.ml.action.GetJobsAction;
import org.elasticsearch.xpack.core.ml.action.PutCalendarAction;
import org.elasticsearch.xpack.core.ml.action.PutDataFrameAnalyticsAction;
import org.elasticsearch.xpack.core.ml.action.PutDatafeedAction;
import org.elasticsearch.xpack.core.ml.action.PutFilterAction;
import org.elasticsearch.xpack.core.ml.action.PutJobAction;
import org.elasticsearch.xpack.core.ml.action.UpdateDataFrameAnalyticsAction;
import org.elasticsearch.xpack.core.ml.action.UpdateDatafeedAction;
import org.elasticsearch.xpack.core.ml.action.UpdateFilterAction;
import org.elasticsearch.xpack.core.ml.action.UpdateJobAction;
import org.elasticsearch.xpack.core.ml.calendars.Calendar;
import org.elasticsearch.xpack.core.ml.datafeed.DatafeedConfig;
import org.elasticsearch.xpack.core.ml.dataframe.DataFrameAnalyticsConfig;
import org.elasticsearch.xpack.core.ml.job.config.Job;
import org.elasticsearch.xpack.core.ml.job.config.MlFilter;
import org.elasticsearch.xpack.core.slm.SnapshotLifecyclePolicy;
import org.elasticsearch.xpack.core.slm.SnapshotLifecyclePolicyItem;
import org.elasticsearch.xpack.core.slm.SnapshotLifecyclePolicyMetadata;
import org.elasticsearch.xpack.core.slm.SnapshotLifecycleStats;
import org.elasticsearch.xpack.core.slm.action.GetSnapshotLifecycleAction;
import org.elasticsearch.xpack.core.slm.action.PutSnapshotLifecycleAction;
import org.elasticsearch.xpack.core.transform.TransformConfigVersion;
import org.elasticsearch.xpack.core.transform.action.GetTransformAction;
import org.elasticsearch.xpack.core.transform.action.PutTransformAction;
import org.elasticsearch.xpack.core.transform.action.UpdateTransformAction;
import org.elasticsearch.xpack.core.transform.transforms.TransformConfig;
import org.elasticsearch.xpack.core.transform.transforms.TransformConfigUpdate;

/** The kinds of definitions, each with the classes of Elasticsearch that its own endpoints use. */
final class Kinds {
    private static final TimeValue WAIT = TimeValue.timeValueSeconds(30);

    private Kinds() {}

    static List<Kind<?>> all() {
        return List.of(lifecycle(), snapshots(), transform(), filter(), job(), datafeed(), analytics(), calendar(), enrich());
    }

    private static Kind<LifecyclePolicy> lifecycle() {
        return new Kind<>(
                "/_ilm/policy",
                true,
                (parser, name) -> {
                    PutLifecycleRequest request = PutLifecycleRequest.parseRequest(
                            new PutLifecycleRequest.Factory() {
                                @Override
                                public PutLifecycleRequest create(LifecyclePolicy policy) {
                                    return new PutLifecycleRequest(WAIT, WAIT, policy);
                                }

                                @Override
                                public String getPolicyName() {
                                    return name;
                                }
                            },
                            parser);
                    refuse(request.validate());
                    return request.getPolicy();
                },
                null,
                (policy, name, version) -> {
                    ItemUsage unused = new ItemUsage(List.of(), List.of(), List.of());
                    var item = new GetLifecycleAction.LifecyclePolicyResponseItem(
                            policy, version, Instant.now().toString(), unused);
                    var response = ChunkedToXContent.wrapAsToXContent(new GetLifecycleAction.Response(List.of(item)));
                    return (builder, params) -> response.toXContent(builder, params);
                });
    }

    private static Kind<SnapshotLifecyclePolicy> snapshots() {
        return new Kind<>(
                "/_slm/policy",
                true,
                (parser, name) -> {
                    var request = PutSnapshotLifecycleAction.Request.parseRequest(WAIT, WAIT, name, parser);
                    refuse(request.validate());
                    return request.getLifecycle();
                },
                null,
                (policy, name, version) -> {
                    var metadata = SnapshotLifecyclePolicyMetadata.builder()
                            .setPolicy(policy)
                            .setVersion(version)
                            .setModifiedDate(System.currentTimeMillis())
                            .build();
                    var statistics = new SnapshotLifecycleStats.SnapshotPolicyStats(name);
                    return new GetSnapshotLifecycleAction.Response(
                            List.of(new SnapshotLifecyclePolicyItem(metadata, null, statistics)));
                });
    }

    private static Kind<TransformConfig> transform() {
        return new Kind<>(
                "/_transform",
                false,
                (parser, name) -> {
                    TransformConfig config = TransformConfig.fromXContent(parser, name, false);
                    refuse(new PutTransformAction.Request(config, false, WAIT).validate());
                    return config.setCreateTime(Instant.now()).setVersion(TransformConfigVersion.CURRENT);
                },
                (before, parser, name) -> {
                    TransformConfigUpdate update = TransformConfigUpdate.fromXContent(parser);
                    refuse(new UpdateTransformAction.Request(update, name, false, WAIT).validate());
                    return update.apply(TransformConfig.rewriteForUpdate(before));
                },
                (config, name, version) -> new GetTransformAction.Response(List.of(config), 1, List.of()));
    }

    private static Kind<MlFilter> filter() {
        return new Kind<>(
                "/_ml/filters",
                false,
                (parser, name) -> {
                    PutFilterAction.Request request = PutFilterAction.Request.parseRequest(name, parser);
                    refuse(request.validate());
                    return request.getFilter();
                },
                (before, parser, name) -> {
                    UpdateFilterAction.Request request = UpdateFilterAction.Request.parseRequest(name, parser);
                    refuse(request.validate());
                    TreeSet<String> items = new TreeSet<>(before.getItems());
                    items.addAll(request.getAddItems());
                    for (String item : request.getRemoveItems()) {
                        if (!items.remove(item)) {
                            throw new IllegalArgumentException("no item [" + item + "] in filter [" + name + "]");
                        }
                    }
                    String text = request.getDescription() == null ? before.getDescription() : request.getDescription();
                    return MlFilter.builder(name).setDescription(text).setItems(items).build();
                },
                (one, name, version) ->
                        new GetFiltersAction.Response(new QueryPage<>(List.of(one), 1, MlFilter.RESULTS_FIELD)));
    }

    private static Kind<Job> job() {
        return new Kind<>(
                "/_ml/anomaly_detectors",
                false,
                (parser, name) -> {
                    Job.Builder builder = PutJobAction.Request.parseRequest(
                                    name, parser, IndicesOptions.STRICT_EXPAND_OPEN_FORBID_CLOSED)
                            .getJobBuilder();
                    builder.validateAnalysisLimitsAndSetDefaults(ByteSizeValue.ZERO);
                    builder.setJobVersion(MlConfigVersion.CURRENT);
                    return builder.build(new Date());
                },
                (before, parser, name) -> UpdateJobAction.Request.parseRequest(name, parser)
                        .getJobUpdate()
                        .mergeWithJob(before, ByteSizeValue.ZERO),
                (one, name, version) -> new GetJobsAction.Response(new QueryPage<>(List.of(one), 1, Job.RESULTS_FIELD)));
    }

    private static Kind<DatafeedConfig> datafeed() {
        IndicesOptions options = IndicesOptions.STRICT_EXPAND_OPEN_FORBID_CLOSED;
        return new Kind<>(
                "/_ml/datafeeds",
                false,
                (parser, name) -> PutDatafeedAction.Request.parseRequest(name, options, parser).getDatafeed(),
                (before, parser, name) -> UpdateDatafeedAction.Request.parseRequest(name, null, parser)
                        .getUpdate()
                        .apply(before, Map.of(), ClusterState.EMPTY_STATE),
                (one, name, version) ->
                        new GetDatafeedsAction.Response(new QueryPage<>(List.of(one), 1, DatafeedConfig.RESULTS_FIELD)));
    }

    private static Kind<DataFrameAnalyticsConfig> analytics() {
        return new Kind<>(
                "/_ml/data_frame/analytics",
                false,
                (parser, name) -> {
                    var request = PutDataFrameAnalyticsAction.Request.parseRequest(name, parser);
                    refuse(request.validate());
                    return new DataFrameAnalyticsConfig.Builder(request.getConfig())
                            .setCreateTime(Instant.now())
                            .setVersion(MlConfigVersion.CURRENT)
                            .build();
                },
                (before, parser, name) -> UpdateDataFrameAnalyticsAction.Request.parseRequest(name, parser)
                        .getUpdate()
                        .mergeWithConfig(before)
                        .build(),
                (one, name, version) -> new GetDataFrameAnalyticsAction.Response(
                        new QueryPage<>(List.of(one), 1, GetDataFrameAnalyticsAction.Response.RESULTS_FIELD)));
    }

    private static Kind<Calendar> calendar() {
        return new Kind<>(
                "/_ml/calendars",
                false,
                (parser, name) -> PutCalendarAction.Request.parseRequest(name, parser).getCalendar(),
                null,
                (one, name, version) ->
                        new GetCalendarsAction.Response(new QueryPage<>(List.of(one), 1, Calendar.RESULTS_FIELD)));
    }

    private static Kind<EnrichPolicy> enrich() {
        return new Kind<>(
                "/_enrich/policy",
                false,
                (parser, name) -> EnrichPolicy.fromXContent(parser),
                null,
                (one, name, version) -> new GetEnrichPolicyAction.Response(Map.of(name, one)));
    }

    private static void refuse(ActionRequestValidationException problem) throws IOException {
        if (problem != null) {
            throw problem;
        }
    }
}
