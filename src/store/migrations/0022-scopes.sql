-- min_version: 0.1.0
-- Scopes: the machines that a token is for, as a filter. Empty: the whole fleet. The terms are what the filter is an AND of,
-- each in one spelling, so that one scope is inside another when it has all of its terms.
ALTER TABLE tokens ADD COLUMN scope text NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN scope_terms text[] NOT NULL DEFAULT '{}';

-- A role may be one of the configuration.
ALTER TABLE tokens DROP CONSTRAINT tokens_role_check;

-- What a caller with a scope creates belongs to its scope; what has no terms is shared by all.
ALTER TABLE pools ADD COLUMN scope_terms text[] NOT NULL DEFAULT '{}';
ALTER TABLE plans ADD COLUMN scope_terms text[] NOT NULL DEFAULT '{}';
ALTER TABLE images ADD COLUMN scope_terms text[] NOT NULL DEFAULT '{}';
ALTER TABLE workflows ADD COLUMN scope_terms text[] NOT NULL DEFAULT '{}';
