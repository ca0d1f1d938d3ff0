-- The rows of an index of words, one for each occurrence. They count how often a row has a word, since
-- the function bm25 of an index compares the rows of all scopes.
CREATE VIRTUAL TABLE mem_word_occurrence USING fts5vocab (mem_word, instance);
CREATE VIRTUAL TABLE mem_message_word_occurrence USING fts5vocab (mem_message_word, instance);
CREATE VIRTUAL TABLE mem_value_word_occurrence USING fts5vocab (mem_value_word, instance);
CREATE VIRTUAL TABLE mem_chunk_word_occurrence USING fts5vocab (mem_chunk_word, instance);
