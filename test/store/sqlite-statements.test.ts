// How SQLite runs statements that are already prepared.
import assert from 'node:assert/strict'
import { constants, DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { statement } from '../../src/store/database.ts'
import { createConnection } from '../../src/store/engine/sqlite/connection.ts'

const FIND = statement<{ zone_id: string; id: string }, { name: string }>(
  `select users.name from sessions join users on users.zone_id = sessions.zone_id and users.id = sessions.user_id
   where sessions.zone_id = :zone_id and sessions.id = :id`,
)

it('prepares a statement with a join once', t => {
  const database = new DatabaseSync(':memory:')
  t.after(() => database.close())
  database.exec(`create table sessions (zone_id text not null, id text not null, user_id text, primary key (zone_id, id)) strict;
    create table users (zone_id text not null, id text not null, name text not null, primary key (zone_id, id)) strict;
    insert into sessions values ('uaa', 'first', 'u1'), ('uaa', 'second', 'u2');
    insert into users values ('uaa', 'u1', 'marissa'), ('uaa', 'u2', 'paul')`)
  // SQLite asks it for permission whenever it prepares a statement.
  let asked = 0
  database.setAuthorizer(() => {
    asked += 1
    return constants.SQLITE_OK
  })
  const connection = createConnection(database)
  const nameOf = (id: string): string | undefined => connection.run(FIND, ['uaa', id]).rows[0]?.name

  assert.equal(nameOf('first'), 'marissa')
  assert.ok(asked > 0)
  asked = 0
  assert.equal(nameOf('second'), 'paul')
  assert.equal(asked, 0)
})
