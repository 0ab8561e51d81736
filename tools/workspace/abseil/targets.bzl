"""Which of Abseil's targets there are, by package, and their pkg-config modules."""

TARGETS = {
    "absl/algorithm": {
        "algorithm": "absl_algorithm",
        "container": "absl_algorithm_container",
    },
    "absl/base": {
        "base": "absl_base",
        "config": "absl_config",
        "core_headers": "absl_core_headers",
        "dynamic_annotations": "absl_dynamic_annotations",
        "endian": "absl_endian",
        "log_severity": "absl_log_severity",
    },
    "absl/cleanup": {
        "cleanup": "absl_cleanup",
    },
    "absl/container": {
        "btree": "absl_btree",
        "fixed_array": "absl_fixed_array",
        "flat_hash_map": "absl_flat_hash_map",
        "flat_hash_set": "absl_flat_hash_set",
        "inlined_vector": "absl_inlined_vector",
        "node_hash_map": "absl_node_hash_map",
        "node_hash_set": "absl_node_hash_set",
    },
    "absl/debugging": {
        "failure_signal_handler": "absl_failure_signal_handler",
        "leak_check": "absl_leak_check",
        "stacktrace": "absl_stacktrace",
        "symbolize": "absl_symbolize",
    },
    "absl/flags": {
        "commandlineflag": "absl_flags_commandlineflag",
        "config": "absl_flags_config",
        "flag": "absl_flags",
        "marshalling": "absl_flags_marshalling",
        "parse": "absl_flags_parse",
        "reflection": "absl_flags_reflection",
        "usage": "absl_flags_usage",
    },
    "absl/functional": {
        "bind_front": "absl_bind_front",
        "function_ref": "absl_function_ref",
    },
    "absl/hash": {
        "hash": "absl_hash",
    },
    "absl/memory": {
        "memory": "absl_memory",
    },
    "absl/meta": {
        "type_traits": "absl_type_traits",
    },
    "absl/numeric": {
        "bits": "absl_bits",
        "int128": "absl_int128",
    },
    "absl/random": {
        "bit_gen_ref": "absl_random_bit_gen_ref",
        "distributions": "absl_random_distributions",
        "random": "absl_random_random",
        "seed_sequences": "absl_random_seed_sequences",
    },
    "absl/status": {
        "status": "absl_status",
        "statusor": "absl_statusor",
    },
    "absl/strings": {
        "cord": "absl_cord",
        "str_format": "absl_str_format",
        "strings": "absl_strings",
    },
    "absl/synchronization": {
        "synchronization": "absl_synchronization",
    },
    "absl/time": {
        "time": "absl_time",
    },
    "absl/types": {
        "any": "absl_any",
        "compare": "absl_compare",
        "optional": "absl_optional",
        "span": "absl_span",
        "variant": "absl_variant",
    },
    "absl/utility": {
        "utility": "absl_utility",
    },
}
