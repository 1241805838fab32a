"""What may be told in public about how good a release is: noisy measures, charged like any release."""
