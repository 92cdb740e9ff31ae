"""The shuffle model: clients encode, a shuffler mixes what it cannot read, an analyzer decodes what nobody signed."""
