ask() { curl -sf -H "Authorization: Bearer $USER_TOKEN" -H 'Content-Type: application/json' "$@"; }
own='map(select(.metadata.created_by != "system"))'  # the assistants of the graphs belong to nobody
left() {
  echo "crons $(ask $WEFT_SERVER/runs/crons/search -d '{"limit": 1000}' | jq length)" \
    "threads $(ask $WEFT_SERVER/threads/search -d '{"limit": 1000}' | jq length)" \
    "assistants $(ask $WEFT_SERVER/assistants/search -d '{"limit": 1000}' | jq "$own | length")" \
    "items $(ask $WEFT_SERVER/store/items/search -d '{"namespace_prefix": [], "limit": 1000}' | jq '.items | length')"
}
for id in $(ask $WEFT_SERVER/runs/crons/search -d '{"limit": 1000}' | jq -r '.[].cron_id'); do ask -X DELETE $WEFT_SERVER/runs/crons/$id; done
while T=$(ask $WEFT_SERVER/threads/search -d '{"limit": 100}' | jq -r '.[].thread_id') && [ -n "$T" ]; do
  for id in $T; do ask -X DELETE $WEFT_SERVER/threads/$id || break 2; done
done
for id in $(ask $WEFT_SERVER/assistants/search -d '{"limit": 1000}' | jq -r "$own | .[].assistant_id"); do ask -X DELETE $WEFT_SERVER/assistants/$id; done
ask $WEFT_SERVER/store/items/search -d '{"namespace_prefix": [], "limit": 1000}' | jq -c '.items[] | {namespace, key}' |
  while read -r item; do ask -X DELETE $WEFT_SERVER/store/items -d "$item"; done
left  # crons 0 threads 0 assistants 0 items 0; without Options.Values, the last number is missing
