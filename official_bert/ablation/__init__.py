"""Many runs that differ in a few settings, and what came of them."""
