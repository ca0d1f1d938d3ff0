package checkpointtest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// counterparts has the names of the tests in the conformance suite of LangGraph's
// checkpointers, by capability. This suite has a case with the same name for each.
// Some names are about a concept that this package lacks, such as channel versions.
// The promise of such a case names the property that the case checks instead.
var counterparts = map[string][]string{
	"put": {
		"returns_config", "roundtrip", "preserves_channel_values", "preserves_channel_versions", "preserves_versions_seen",
		"preserves_metadata", "root_namespace", "child_namespace", "default_namespace", "multiple_checkpoints_same_thread",
		"multiple_threads_isolated", "parent_config", "incremental_channel_update", "new_channel_added", "channel_removed",
		"preserves_run_id", "preserves_versions_seen_values",
	},
	"put_writes": {
		"basic", "multiple_writes_same_task", "multiple_tasks", "preserves_task_id", "preserves_channel_and_value", "task_path",
		"idempotent", "special_channels", "across_namespaces", "cleared_on_next_checkpoint",
	},
	"get_tuple": {
		"nonexistent_returns_none", "latest_when_no_checkpoint_id", "specific_checkpoint_id", "config_structure",
		"checkpoint_fields", "metadata", "parent_config", "pending_writes", "respects_namespace", "nonexistent_checkpoint_id",
	},
	"list": {
		"all", "by_thread", "by_namespace", "ordering", "metadata_filter_single_key", "metadata_filter_step", "before", "limit",
		"limit_plus_before", "combined_thread_and_filter", "empty_result", "includes_pending_writes", "multiple_namespaces",
		"metadata_filter_multiple_keys", "metadata_filter_no_match", "metadata_custom_keys",
	},
	"delete_thread": {
		"removes_checkpoints", "removes_writes", "removes_all_namespaces", "preserves_other_threads", "nonexistent_noop",
	},
	"delete_for_runs": {
		"single", "multiple", "preserves_other_runs", "removes_writes", "empty_list_noop", "nonexistent_noop", "across_namespaces",
	},
	"copy_thread": {
		"basic", "all_checkpoints", "preserves_metadata", "preserves_namespaces", "preserves_writes", "preserves_ordering",
		"source_unchanged", "nonexistent_source",
	},
	"prune": {
		"keep_latest_single_thread", "keep_latest_multiple_threads", "keep_latest_across_namespaces",
		"keep_latest_preserves_writes", "delete_all", "preserves_other_threads", "empty_list_noop", "nonexistent_noop",
	},
	"delta_channel_history": {
		"returns_writes_oldest_first", "seed_is_nearest_snapshot", "excludes_target_pending_writes", "multi_channel",
		"empty_channels_returns_empty", "walk_to_root_no_seed", "migration_plain_value_as_seed",
		"seed_ancestor_own_writes_are_replayed",
	},
}

func TestEveryCounterpartHasACase(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, c := range allCases() {
		have[c.name] = true
	}
	n := 0
	for group, names := range counterparts {
		for _, name := range names {
			n++
			assert.True(t, have[group+"/"+name], "no case %s/%s", group, name)
		}
	}
	assert.Equal(t, 89, n)
}

func TestCasesAreWellFormed(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z_]+/[a-z_]+$`)
	seen := map[string]bool{}
	for _, c := range allCases() {
		assert.Regexp(t, name, c.name)
		assert.False(t, seen[c.name], "two cases have the name %s", c.name)
		seen[c.name] = true
		assert.NotEmpty(t, c.promise, c.name)
		assert.NotNil(t, c.run, c.name)
		group, _, _ := strings.Cut(c.name, "/")
		want := map[string]string{
			"lease": needsLease, "list_threads": needsThreads, "list_status": needsStatus, "copy_thread": needsCopy, "prune": needsPrune, "delete_for_runs": needsRuns,
		}[group]
		if want != "" {
			assert.Equal(t, want, c.needs, c.name)
		}
	}
}
