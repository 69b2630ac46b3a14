"""
What an agent's calls were for: discovery, setup, work or repair. Values in, values out.

Readers (`codemode.traces`) turn recorded traces into `TraceCall` values; `rules` says which
class each is and why; `tally` counts while they stream past; `report` and `compare` say
what the counts mean and how sure one can be.
"""
