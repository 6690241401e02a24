import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../support/oauth.ts'
import { newUserBody, startUserServer } from '../support/users.ts'
import type { UserApi } from '../support/users.ts'

const COMMON = 'Password must not be one of the most common passwords.'
const OWN = 'Password must not be made of your name, your email address or the name of this site.'
const EMAILS = [{ value: 'somebody@post.example' }]
const ANY = { headers: { 'if-match': '*' } } as const
const RULES = {
  minLength: 8,
  maxLength: 255,
  requireUpperCaseCharacter: 0,
  requireLowerCaseCharacter: 0,
  requireDigit: 0,
  requireSpecialCharacter: 0,
  expirePasswordInMonths: 0,
}

for (const mode of MODES) {
  describe(`Guessable password in ${mode} (P7)`, () => {
    let api: UserApi
    before(async () => {
      api = await startUserServer(mode)
    })
    after(async () => {
      assert.deepEqual(api.server.faults, [])
      await api.stop()
    })

    const scim = (member: string): string => `urn:ietf:params:scim:${member}`
    const USER = scim('schemas:core:2.0:User')
    let count = 0
    const isRefused = async (
      status: number,
      message: string,
      { status: got, text }: { status: number; text: string },
    ) => {
      assert.equal(got >= 400, mode === 'standard', text)
      if (mode === 'standard') assert.deepEqual([got, text.includes(message)], [status, true], text)
    }

    for (const { what, password, message } of [
      { what: 'a common password', password: () => 'Password1!', message: COMMON },
      { what: 'the user name', password: (name: string) => `${name}-2026`, message: OWN },
      { what: 'the service name', password: () => 'Latchkey-svc', message: OWN },
      {
        what: 'a common password of the service name',
        password: () => 'svcsvcsvc',
        message: `${OWN} ${COMMON}`,
      },
    ]) {
      const newName = (): string => `walter${(count += 1)}`

      // Covers compatibility: pages, headers, cookies: P7 guessable passwords
      it(`is refused by POST /Users: ${what}`, async () => {
        const name = newName()
        const answer = await api.send('POST', '/Users', newUserBody(name, { password: password(name) }))
        await isRefused(400, message, answer)
      })
      it(`is refused by PUT /Users/{id}/password: ${what}`, async () => {
        const name = newName()
        const { id } = await api.create(name)
        const answer = await api.send('PUT', `/Users/${id}/password`, { password: password(name) }, { by: 'admin' })
        await isRefused(400, message, answer)
      })
      it(`is refused by SCIM 2.0: ${what}`, async () => {
        const name = newName()
        const body = { schemas: [USER], userName: name, emails: EMAILS, password: password(name) }
        const headers = { 'content-type': 'application/scim+json' }
        const post = await api.send('POST', '/scim/v2/Users', body, { headers })
        await isRefused(400, message, post)
        const { id } = await api.create(newName())
        const patch = {
          schemas: [scim('api:messages:2.0:PatchOp')],
          // With a new name in the same request.
          Operations: [{ op: 'replace', value: { userName: 'brunhilda', password: password('brunhilda') } }],
        }
        await isRefused(400, message, await api.send('PATCH', `/scim/v2/Users/${id}`, patch, { headers }))
        await api.send('DELETE', `/Users/${id}`, undefined, ANY)
      })
      it(`is refused by /Bulk: ${what}`, async () => {
        const name = newName()
        const data = { schemas: [USER], userName: name, emails: EMAILS, password: password(name) }
        const body = {
          schemas: [scim('api:messages:2.0:BulkRequest')],
          Operations: [{ method: 'POST', path: '/Users', bulkId: 'b', data }],
        }
        const headers = { 'content-type': 'application/scim+json' }
        const answer = await api.send('POST', '/scim/v2/Bulk', body, { headers })
        const { status, response } = answer.json<{ Operations: [{ status: string; response?: object }] }>()
          .Operations[0]
        await isRefused(400, message, { status: Number(status), text: JSON.stringify(response) })
      })
    }

    it('is refused or accepted by the policy of the zone', async () => {
      const provider = await api.server.store.providers.findByOrigin('svc', 'svc')
      assert.ok(provider)
      const setPolicy = async (refuses: boolean): Promise<void> => {
        const passwordPolicy = { ...RULES, refuseCommonPasswords: refuses, refuseOwnWords: refuses }
        await api.server.store.providers.update('svc', { ...provider, config: { passwordPolicy } })
      }
      try {
        await setPolicy(true)
        const refused = await api.send('POST', '/Users', newUserBody('wendy', { password: 'Wendy-password' }))
        assert.equal(refused.status, 201, 'neither covers the whole password')
        const both = await api.send('POST', '/Users', newUserBody('sunshine', { password: 'Sunshine1' }))
        assert.equal(both.json()['message'], `${OWN} ${COMMON}`)
        await setPolicy(false)
        const accepted = await api.send('POST', '/Users', newUserBody('sunshine', { password: 'Sunshine1' }))
        assert.equal(accepted.status, 201, accepted.text)
      } finally {
        await api.server.store.providers.update('svc', provider)
      }
    })
  })
}
