// A database from before there were second factors: everything in it stays, and nothing in it is taken for a factor or a level.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { classesOf, levelOf } from '../../src/model/sessions/assurance.ts'
import { openStore } from '../../src/store/open.ts'
import { createTestClock } from '../support/clock.ts'
import { DATABASE_KINDS, freshDatabase, runStatements } from '../support/databases.ts'
import type { TestDatabase } from '../support/databases.ts'
import { at, client, fullClient, fullUser, fullZone, session, signIn, user, zone } from './records.ts'

/** Values from a provider at sign-in, and their form after the upgrade. */
const CLASSES: readonly (readonly string[])[] = [
  ['2'],
  ['1', 'urn:gold'],
  ['phr'],
  ['phrh', '2'],
  ['urn:gold', '2', '20'],
  ['phrase'],
]

/** Takes the migrations back. */
const revertMigration = (database: TestDatabase): Promise<void> =>
  runStatements(
    database,
    ...['passkeys', 'totp_secrets', 'factor_codes'].map(table => `drop table ${table}`),
    `alter table users drop column factors`,
    ...CLASSES.map(
      (words, number) => `update sessions set acr = '${JSON.stringify(words)}' where id_digest = 's${number}'`,
    ),
    `delete from migrations where id in ('0020-second-factors', '0035-passkeys-that-verified', '0036-backup-eligibility')`,
  )

for (const kind of DATABASE_KINDS) {
  describe(`Migration of second factors, on ${kind}`, () => {
    it('keeps every record, without factors or levels', async () => {
      const database = await freshDatabase(kind)
      const options = { clock: createTestClock(), onError: assert.ifError }
      const accounts = [user({ id: 'u1', userName: 'one' }), user({ ...fullUser, id: 'u2', userName: 'two' })]
      // A member without meaning in that version.
      const app = client({ ...fullClient, additional: { secondFactor: 'required', note: 'kept' } })
      const first = await openStore(database.url, options)
      await first.zones.insert(zone(fullZone))
      for (const account of accounts) await first.users.insert('z1', account)
      await first.clients.insert('z1', app)
      for (const [number] of CLASSES.entries()) {
        const made = session({ idDigest: `s${number}`, signIn: { ...signIn, acr: ['urn:x'] } })
        await first.sessions.insert('z1', made)
      }
      await first.close()
      await revertMigration(database)

      const store = await openStore(database.url, options)
      for (const account of accounts) {
        const { groupNames: _, ...kept } = { groupNames: [], ...(await store.users.find('z1', account.id)) }
        assert.deepEqual(kept, account)
        assert.deepEqual(await store.factors.passkeysOf('z1', account.id), [])
        assert.deepEqual(await store.factors.codesLeft('z1', account.id, at(0)), { recovery: 0 })
      }
      assert.deepEqual(await store.zones.find('z1'), zone(fullZone))
      assert.deepEqual(await store.clients.find('z1', app.clientId), app)
      for (const [number, words] of CLASSES.entries()) {
        const kept = (await store.sessions.find('z1', `s${number}`))?.signIn?.acr
        assert.equal(levelOf(kept), '1', words.join())
        assert.deepEqual(classesOf(kept), words)
      }
      const [passkey] = [
        { id: 'p', userId: 'u1', credentialId: 'c', publicKey: 'k', counter: 0, transports: [], aaguid: '' },
      ]
      const added = {
        ...passkey,
        isBackedUp: false,
        isAttested: false,
        hasVerifiedUser: true,
        name: 'Key',
        createdAt: at(0),
      }
      assert.equal(await store.factors.addPasskey('z1', added, 1, []), true)
      assert.deepEqual((await store.users.find('z1', 'u1'))?.factors?.methods, ['passkey'])
      await store.close()
      await database.drop()
    })
  })
}
