"""The judged metrics: a row's texts and an asker to judgements."""
