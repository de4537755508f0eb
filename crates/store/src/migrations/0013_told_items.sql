-- The things that need a person and about which people were told, so that one of several processes sends one notice.

CREATE TABLE told_item (
    way {text} NOT NULL,
    item {text} NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (way, item),
    CHECK (way IN ('command', 'screen', 'webhook'))
) {keyed};
