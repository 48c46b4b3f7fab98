"""Names of streams stand in the order of their bytes, in a database of any language."""

from infra import postgres


async def test_tables_are_found_by_a_range_of_names_in_a_database_of_any_language(database):
    """By the rules of en_US, for one, 'table:a' comes after 'table:' and DEL, and no table would be found."""
    async with postgres.connected(database, name="test") as connection:
        found = await connection.fetchval(
            "select collname from pg_attribute a join pg_collation c on c.oid = a.attcollation "
            "where attrelid = 'streams'::regclass and attname = 'stream'"
        )
    assert found == "C"
