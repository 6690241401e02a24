// Test cases of every database for clients that register themselves, and with initial access tokens.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AlreadyExists } from '../../src/store/store.ts'
import { at, client } from './records.ts'
import type { Lent } from './token-cases.ts'

const registration = { tokenDigest: 'd', responseTypes: ['code'] }
const token = (id: string, more: object = {}) => ({
  id,
  tokenDigest: `digest of ${id}`,
  createdAt: at(0),
  expiresAt: at(100),
  maxUses: 2,
  uses: 0,
  ...more,
})

/** The cases of registrations, inside the suite of a database. */
export function registrationCases({ store, newZone }: Lent): void {
  const register = (zoneId: string, clientId: string, more: { tokenId?: string; maxClients?: number } = {}) =>
    store().registrations.register(
      zoneId,
      { client: client({ zoneId, clientId, registration }), createdBy: 'registration', maxClients: 10, ...more },
      at(50),
    )

  describe('Client registrations', () => {
    it('are limited per zone, also concurrently, not counting other clients', async () => {
      const z = newZone()
      await store().clients.apply(z, [{ kind: 'insert', client: client({ zoneId: z, clientId: 'administrators' }) }])
      const outcomes = await Promise.all(['a', 'b', 'c', 'd'].map(id => register(z, id, { maxClients: 2 })))
      assert.deepEqual(outcomes.toSorted(), ['full', 'full', 'registered', 'registered'])
      assert.equal(await register(newZone(), 'a', { maxClients: 1 }), 'registered')
    })

    it('create clients that record their creator', async () => {
      const z = newZone()
      assert.equal(await store().clients.find(z, 'new'), undefined)
      assert.equal(await register(z, 'new'), 'registered')
      assert.deepEqual((await store().clients.find(z, 'new'))?.registration, registration)
      assert.equal((await store().clients.findMetadata(z, 'new'))?.createdBy, 'registration')
      await assert.rejects(register(z, 'new'), AlreadyExists)
    })

    it('use their initial access token only on success', async () => {
      const z = newZone()
      const { registrations } = store()
      assert.equal(await registrations.addToken(z, token('t', { label: 'x' }), 5), true)
      assert.equal(await register(z, 'a', { tokenId: 't', maxClients: 0 }), 'full')
      const outcomes = await Promise.all(['a', 'b', 'c'].map(id => register(z, id, { tokenId: 't' })))
      assert.deepEqual(outcomes.toSorted(), ['registered', 'registered', 'used'])
      assert.deepEqual(await registrations.findToken(z, 'digest of t'), token('t', { label: 'x', uses: 2 }))
      await registrations.addToken(z, token('old', { expiresAt: at(50) }), 5)
      assert.equal(await register(z, 'd', { tokenId: 'old' }), 'used')
      assert.equal(await register(z, 'd', { tokenId: 'unknown' }), 'used')
      assert.equal(await register(newZone(), 'd', { tokenId: 't' }), 'used')
    })

    it('list, limit, delete and purge initial access tokens', async () => {
      const z = newZone()
      const { registrations } = store()
      assert.equal(await registrations.addToken(z, token('first'), 2), true)
      assert.equal(await registrations.addToken(z, token('second', { createdAt: at(1) }), 2), true)
      assert.equal(await registrations.addToken(z, token('third'), 2), false)
      assert.deepEqual(
        (await registrations.listTokens(z)).map(({ id }) => id),
        ['second', 'first'],
      )
      assert.equal(await registrations.deleteToken(z, 'first'), true)
      assert.equal(await registrations.deleteToken(z, 'first'), false)
      assert.equal(await registrations.deleteToken(newZone(), 'second'), false)
      await store().purge(at(99))
      assert.ok(await registrations.findToken(z, 'digest of second'))
      while ((await store().purge(at(101))) > 0) continue
      assert.equal(await registrations.findToken(z, 'digest of second'), undefined)
    })

    it('match hosts and schemes of other clients exactly', async () => {
      const z = newZone()
      const redirectUris = [
        'https://a_b.example/cb',
        'http://With-Port.example:8080/cb',
        'https://bare.example',
        'https://query.example?a=b',
      ]
      await store().clients.apply(z, [
        { kind: 'insert', client: client({ zoneId: z, clientId: 'one', redirectUris }) },
        {
          kind: 'insert',
          client: client({ zoneId: z, clientId: 'self', registration, redirectUris: ['https://self.example/cb'] }),
        },
      ])
      const isTaken = (host: string) => store().registrations.isHostTaken(z, host)
      for (const host of ['a_b.example', 'with-port.example', 'bare.example', 'query.example']) {
        assert.equal(await isTaken(host), true, host)
      }
      for (const host of ['axb.example', 'b.example', 'a_b.exampl', 'a_b.example.org', 'self.example', '%', '!', '']) {
        assert.equal(await isTaken(host), false, host)
      }
      assert.equal(await store().registrations.isHostTaken(newZone(), 'bare.example'), false)
      const { registrations } = store()
      assert.equal(await registrations.isSchemeTaken(z, 'https:'), true)
      for (const scheme of ['ttps:', 'ftp:', '%', 'self:'])
        assert.equal(await registrations.isSchemeTaken(z, scheme), false, scheme)
      assert.deepEqual(await registrations.redirectUrisWith(z, 'BARE.example'), [redirectUris])
      for (const text of ['self.example', '%', 'axb'])
        assert.deepEqual(await registrations.redirectUrisWith(z, text), [], text)
    })
  })
}
