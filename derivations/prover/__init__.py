"""The prover: formulas over symbolic sizes, their normal forms, and theorems with mutants that must not be proved."""
