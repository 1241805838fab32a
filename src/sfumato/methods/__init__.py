"""The methods, a folder each: ``method`` is the public class, ``plan`` sees public facts, ``run`` touches the data."""
