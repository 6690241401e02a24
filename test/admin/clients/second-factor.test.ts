import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { assertInvalid, startClientServer, TO_Z1 } from '../../support/clients.ts'
import type { ClientServer } from '../../support/clients.ts'
import { MODES } from '../../support/oauth.ts'
import { setPolicy } from '../../support/second-factor.ts'

const ON = { requirement: 'optional' } as const

for (const mode of MODES) {
  describe(`Client second-factor policy in ${mode}`, () => {
    let wire: ClientServer
    let count = 0
    before(async () => {
      wire = await startClientServer(mode, { config: { zone_config: { secondFactor: ON } } })
    })
    after(() => wire.stop())

    const record = (client_id: string, secondFactor: unknown) => ({
      client_id,
      client_secret: 's',
      authorized_grant_types: ['password'],
      secondFactor,
    })
    const post = (secondFactor: unknown) => {
      count += 1
      return wire.send('POST', '/oauth/clients', record(`c${count}`, secondFactor))
    }
    const shown = async () => (await wire.read(`c${count}`))?.['secondFactor']

    it('is stored, kept if omitted, and removed by null', async () => {
      const policy = { requirement: 'groups', groups: ['cloud.read', 'CLOUD.write'], methods: ['passkey'] }
      assert.equal((await post(policy)).status, 201)
      assert.deepEqual(await shown(), policy)
      const change = async (members: object) => {
        const body = { client_id: `c${count}`, ...members }
        const answer = await wire.send('PUT', `/oauth/clients/c${count}`, body)
        assert.equal(answer.status, 200, answer.text)
      }
      await change({ name: 'Named' })
      assert.deepEqual(await shown(), policy)
      await change({ secondFactor: { requirement: 'required' } })
      assert.deepEqual(await shown(), { requirement: 'required' })
      await change({ secondFactor: null })
      assert.equal(await shown(), undefined)
    })

    it('does not prevent changes of the client after the zone policy changed', async () => {
      assert.equal((await post({ requirement: 'required', methods: ['passkey'] })).status, 201)
      for (const policy of [{ requirement: 'off' }, { requirement: 'optional', methods: ['totp'] }] as const) {
        await setPolicy(wire.server, policy)
        const body = { client_id: `c${count}`, name: 'Still here' }
        assert.equal((await wire.send('PUT', `/oauth/clients/c${count}`, body)).status, 200)
      }
      await setPolicy(wire.server, ON)
    })

    for (const { name, policy, description } of [
      {
        name: 'requirement off',
        policy: { requirement: 'off' },
        description: /secondFactor has a requirement that is not one of: \[optional, required, groups\]/,
      },
      { name: 'no requirement', policy: { methods: ['totp'] }, description: /must be an object with requirement/ },
      { name: 'an empty object', policy: {}, description: /must be an object with requirement/ },
      {
        name: 'an unknown requirement',
        policy: { requirement: 'sometimes' },
        description: /a requirement that is not one of/,
      },
      {
        name: 'an unknown method',
        policy: { requirement: 'required', methods: ['sms'] },
        description: /secondFactor has methods that are not among: \[passkey, totp\]/,
      },
      {
        name: 'an empty list of methods',
        policy: { requirement: 'required', methods: [] },
        description: /has no methods/,
      },
      { name: 'methods of another type', policy: { requirement: 'required', methods: 'totp' }, description: /./ },
      {
        name: '2000 groups',
        policy: { requirement: 'groups', groups: Array.from({ length: 2000 }, (_, number) => `g${number}`) },
        description: /at most 1000 entries/,
      },
      {
        name: '101 groups',
        policy: { requirement: 'groups', groups: Array.from({ length: 101 }, (_, number) => `g${number}`) },
        description: /more than 100 groups/,
      },
      { name: 'groups of another type', policy: { requirement: 'groups', groups: 5 }, description: /list of strings/ },
      { name: 'no group', policy: { requirement: 'groups' }, description: /must name a group/ },
      {
        name: 'a group that does not exist',
        policy: { requirement: 'groups', groups: ['clout.read'] },
        description: /no group named clout.read/,
      },
      {
        name: 'rememberDays',
        policy: { requirement: 'required', rememberDays: 30 },
        description: /must be an object/,
      },
      { name: 'a string', policy: 'required', description: /must be an object/ },
      { name: 'a list', policy: ['required'], description: /must be/ },
    ]) {
      it(`is rejected with ${name}`, async () => {
        assertInvalid(await post(policy), description)
        assert.equal(await wire.read(`c${count}`), undefined)
      })
    }

    it('is rejected with 10,000 groups', async () => {
      const groups = Array.from({ length: 10_000 }, (_, number) => `g${number}`)
      assert.equal((await post({ requirement: 'groups', groups })).status, 413)
    })

    it('is rejected if the zone disables second factors or accepts none of its methods', async () => {
      await setPolicy(wire.server, { requirement: 'off' })
      assertInvalid(await post({ requirement: 'required' }), /second factors are disabled in the zone/)
      await setPolicy(wire.server, { requirement: 'required', methods: ['totp'] })
      assertInvalid(
        await post({ requirement: 'required', methods: ['passkey'] }),
        /must have one that the zone accepts: totp/,
      )
      await setPolicy(wire.server, ON)
    })

    it('is rejected in a batch, without creating any client', async () => {
      const body = [record('tx1', undefined), record('tx2', { requirement: 'groups', groups: ['nobody'] })]
      assertInvalid(await wire.send('POST', '/oauth/clients/tx', body), /no group named nobody/)
      assert.equal(await wire.read('tx1'), undefined)
    })

    it('is validated in the zone of the client', async () => {
      const answer = await wire.send('POST', '/oauth/clients', record('theirs', { requirement: 'required' }), {
        by: 'z1-admin',
        headers: TO_Z1,
      })
      if (mode === 'uaa') assertInvalid(answer, /second factors are disabled in the zone/)
      else assert.equal(answer.status, 201)
    })
  })
}
