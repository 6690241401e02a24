import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../../support/oauth.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import type { ZoneAnswer } from '../../support/zones.ts'
import { HOST_OF_Z1, sendJson, startZoneServer, tokenOf, zoneWrites } from '../../support/zones.ts'

const many = (count: number): readonly string[] => Array.from({ length: count }, (_, number) => `g${number}`)

for (const mode of MODES) {
  describe(`Zone second-factor policy in ${mode}`, () => {
    let server: TestServer
    let bearer: string
    before(async () => {
      server = await startZoneServer({ mode })
      bearer = await tokenOf(server, 'writer')
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const { post, put, ...zones } = zoneWrites(
      () => server,
      () => bearer,
    )
    const created = (secondFactor?: unknown): Promise<ZoneAnswer> =>
      zones.created(secondFactor === undefined ? {} : { secondFactor })
    const shown = (answer: TestAnswer): unknown => {
      assert.equal(answer.status, 200, answer.text)
      return answer.json<ZoneAnswer>().config['secondFactor']
    }
    const full = {
      requirement: 'groups',
      groups: ['svc.admin'],
      methods: ['passkey'],
      rememberDays: 30,
      origins: ['svc'],
    }

    it('is returned as sent, and omitted if unset', async () => {
      assert.deepEqual((await created(full)).config['secondFactor'], full)
      assert.equal((await created()).config['secondFactor'], undefined)
    })

    it('is kept if omitted, and removed by null', async () => {
      const zone = await created(full)
      assert.deepEqual(shown(await put(zone, { idpDiscoveryEnabled: true })), full)
      assert.deepEqual(shown(await put(zone, undefined)), full)
      assert.deepEqual(shown(await put(zone, { secondFactor: { requirement: 'required' } })), {
        requirement: 'required',
      })
      assert.equal(shown(await put(zone, { secondFactor: null })), undefined)
      assert.equal(shown(await put(zone, {})), undefined)
    })

    it('requires existing groups and providers, ignoring case', async () => {
      const zone = await created()
      const ofGroups = (...groups: readonly string[]) => ({ secondFactor: { requirement: 'groups', groups } })
      const refused = await put(zone, ofGroups('svc.admin', 'staf'))
      assert.equal(refused.status, 422)
      assert.match(refused.text, /there is no group named staf/)
      assert.equal((await put(zone, { secondFactor: { origins: ['svc', 'okta'] } })).status, 422)
      assert.equal((await put(zone, ofGroups('SVC.Admin'))).status, 200)
    })

    it('keeps the name of a missing group, but rejects a new one', async () => {
      const zone = await created({ requirement: 'groups', groups: ['to come'] })
      const same = { ...zone.config, secondFactor: { requirement: 'groups', groups: ['to come'], rememberDays: 1 } }
      assert.equal((await put(zone, same)).status, 200)
      assert.equal(
        (await put(zone, { secondFactor: { requirement: 'groups', groups: ['to come', 'more'] } })).status,
        422,
      )
    })

    it('can be changed by administrators of the zone only', async () => {
      const body = { id: 'z1', subdomain: 'one', name: 'Zone 1', config: { secondFactor: { requirement: 'required' } } }
      const attempt = async (as: string, host?: string) =>
        (
          await sendJson(server, 'PUT', '/identity-zones/z1', body, {
            bearer: await tokenOf(server, as, host),
            ...(host !== undefined && { host }),
          })
        ).status
      for (const as of ['reader', 'reader-here', 'reader-of-z1', 'admin-of-z2', 'other']) {
        assert.equal(await attempt(as), 403, as)
      }
      const inside = { bearer: await tokenOf(server, 'admin-of-z1'), headers: { 'x-identity-zone-id': 'z1' } }
      assert.equal((await sendJson(server, 'PUT', '/identity-zones/z1', body, inside)).status, 200)
      assert.equal(await attempt('root', HOST_OF_Z1), 200)
      const ofDefault = { id: 'svc', subdomain: '', name: 'svc', config: { secondFactor: { requirement: 'off' } } }
      for (const host of [undefined, HOST_OF_Z1]) {
        const request = { bearer: await tokenOf(server, 'root', host), ...(host !== undefined && { host }) }
        assert.equal((await sendJson(server, 'PUT', '/identity-zones/svc', ofDefault, request)).status, 403)
      }
    })

    for (const { name, secondFactor } of [
      { name: 'a string instead of an object', secondFactor: 'required' },
      { name: 'a list', secondFactor: [] },
      { name: 'an unknown requirement', secondFactor: { requirement: 'sometimes' } },
      { name: 'a requirement of another type', secondFactor: { requirement: true } },
      { name: 'an unknown method', secondFactor: { requirement: 'required', methods: ['totp', 'sms'] } },
      { name: 'an empty list of methods', secondFactor: { requirement: 'required', methods: [] } },
      { name: 'methods of another type', secondFactor: { methods: 'totp' } },
      { name: 'repeated methods', secondFactor: { methods: ['totp', 'totp', 'totp'] } },
      { name: '101 groups', secondFactor: { requirement: 'groups', groups: many(101) } },
      { name: '10,000 groups', secondFactor: { requirement: 'groups', groups: many(10_000) } },
      { name: 'groups of another type', secondFactor: { requirement: 'groups', groups: { 0: 'a' } } },
      { name: 'a group that is not a string', secondFactor: { requirement: 'groups', groups: [5] } },
      { name: 'an empty list of groups', secondFactor: { requirement: 'groups', groups: [] } },
      { name: 'an empty list of providers', secondFactor: { requirement: 'required', origins: [] } },
      { name: 'negative days', secondFactor: { rememberDays: -1 } },
      { name: '1e9 days', secondFactor: { rememberDays: 1e9 } },
      { name: '366 days', secondFactor: { rememberDays: 366 } },
      { name: 'a fraction of a day', secondFactor: { rememberDays: 0.5 } },
      { name: 'days as a string', secondFactor: { rememberDays: '30' } },
      { name: 'an unknown member', secondFactor: { requirment: 'required' } },
      { name: 'a NUL character in a group', secondFactor: { requirement: 'groups', groups: ['a\0'] } },
    ]) {
      it(`is rejected with ${name}`, async () => {
        const answer = await post({ secondFactor })
        assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '400 invalid_request')
        assert.equal(await server.store.zones.read(zones.lastId()), undefined)
      })
    }

    for (const { name, secondFactor, text } of [
      { name: 'no group', secondFactor: { requirement: 'groups' }, text: /must name a group/ },
      { name: 'groups and no requirement', secondFactor: { groups: ['svc.admin'] }, text: /has no effect without/ },
      { name: 'a blank name', secondFactor: { requirement: 'groups', groups: [' '] }, text: /1 to 255 characters/ },
      {
        name: 'a long name',
        secondFactor: { requirement: 'groups', groups: ['x'.repeat(256)] },
        text: /1 to 255 characters/,
      },
    ]) {
      it(`is rejected as invalid with ${name}`, async () => {
        const answer = await post({ secondFactor })
        assert.equal(answer.status, 422, answer.text)
        assert.match(answer.text, text)
      })
    }
  })
}
