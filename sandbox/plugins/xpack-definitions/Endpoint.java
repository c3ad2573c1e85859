package dev.stateward.sandbox.definitions;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.elasticsearch.ResourceAlreadyExistsException;
import org.elasticsearch.ResourceNotFoundException;
import org.elasticsearch.action.support.master.AcknowledgedResponse;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.rest.BaseRestHandler;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.action.RestToXContentListener;
import org.elasticsearch.xcontent.ToXContentObject;
import org.elasticsearch.xcontent.XContentParser;

/** PUT, GET, DELETE and `_update` of one kind of definition, kept in memory. */
final class Endpoint<T> extends BaseRestHandler {
    private record Stored<T>(T definition, long version) {}

    private final Kind<T> kind;
    private final Map<String, Stored<T>> stored = new ConcurrentHashMap<>();

    Endpoint(Kind<T> kind) {
        this.kind = kind;
    }

    @Override
    public String getName() {
        return "definitions" + kind.path();
    }

    @Override
    public List<Route> routes() {
        String one = kind.path() + "/{name}";
        List<Route> routes = new ArrayList<>();
        for (RestRequest.Method method : List.of(RestRequest.Method.PUT, RestRequest.Method.GET, RestRequest.Method.DELETE)) {
            routes.add(new Route(method, one));
        }
        if (kind.update() != null) {
            routes.add(new Route(RestRequest.Method.POST, one + "/_update"));
        }
        return routes;
    }

    @Override
    protected RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) throws IOException {
        String name = request.param("name");
        ToXContentObject answer = switch (request.method()) {
            case PUT -> put(request, name);
            case POST -> update(request, name);
            case DELETE -> {
                found(name);
                stored.remove(name);
                yield AcknowledgedResponse.TRUE;
            }
            default -> kind.answer().to(found(name).definition(), name, found(name).version());
        };
        return channel -> new RestToXContentListener<>(channel).onResponse(answer);
    }

    private ToXContentObject put(RestRequest request, String name) throws IOException {
        Stored<T> before = stored.get(name);
        if (before != null && !kind.put()) {
            throw new ResourceAlreadyExistsException("[{}] exists", name);
        }
        try (XContentParser parser = request.contentParser()) {
            T made = kind.read().from(parser, name);
            stored.put(name, new Stored<>(made, before == null ? 1 : before.version() + 1));
        }
        return AcknowledgedResponse.TRUE;
    }

    private ToXContentObject update(RestRequest request, String name) throws IOException {
        Stored<T> before = found(name);
        try (XContentParser parser = request.contentParser()) {
            T made = kind.update().of(before.definition(), parser, name);
            stored.put(name, new Stored<>(made, before.version() + 1));
            return kind.answer().to(made, name, before.version() + 1);
        }
    }

    private Stored<T> found(String name) {
        Stored<T> one = stored.get(name);
        if (one == null) {
            throw new ResourceNotFoundException("[{}] does not exist", name);
        }
        return one;
    }
}
