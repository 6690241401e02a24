import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import type { FakeDirectory } from '../support/fake-directory.ts'
import { element, foundEntry, message, result, startFakeDirectory } from '../support/fake-directory.ts'
import type { LdapConfig, LdapServer } from '../support/ldap-server.ts'
import { AS_SCOPES, SEARCH, startLdapServer } from '../support/ldap-server.ts'
import { APP, MODES, tokensOf } from '../support/oauth.ts'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import type { Attack } from './attack.ts'

const BIND = 0x60
const SEARCH_REQUEST = 0x63

interface Entry {
  readonly dn: string
  readonly attributes?: Readonly<Record<string, readonly string[]>>
}

/** A directory of the attacker: accepts every password, and returns the n-th entry for the n-th search of a sign-in. */
const lying =
  (entries: () => readonly Entry[]) =>
  (socket: Socket, { id, operation }: { readonly id: number; readonly operation: number }): void => {
    if (operation === BIND) return void socket.write(message(id, result(0x61)))
    if (operation !== SEARCH_REQUEST) return undefined
    const found = entries().map(({ dn, attributes }) => message(id, foundEntry(dn, attributes)))
    return void socket.write(Buffer.concat([...found, message(id, result(0x65))]))
  }

type Answer = Parameters<typeof startFakeDirectory>[0]

/** Runs the attack in the modes, each against its own server with the malicious directory. */
const against =
  (
    answer: Answer,
    attempt: (api: LdapServer, directory: FakeDirectory, mode: CompatibilityMode) => Promise<void>,
    {
      modes = MODES,
      config = {},
    }: { readonly modes?: readonly CompatibilityMode[]; readonly config?: LdapConfig } = {},
  ) =>
  async (): Promise<void> => {
    for (const mode of modes) {
      const directory = await startFakeDirectory(answer)
      const api = await startLdapServer(mode, { ...SEARCH, baseUrl: directory.url, ...config })
      try {
        await attempt(api, directory, mode)
        assert.deepEqual(api.server.faults, [])
      } finally {
        await api.server.stop()
        await directory.stop()
      }
    }
  }

const ID = { entryUUID: ['00000000-0000-4000-8000-000000000001'] }
const marissa: Entry = {
  dn: 'cn=marissa,dc=evil',
  attributes: { cn: ['marissa'], mail: ['marissa@example.org'], ...ID },
}

/** Attacks by directories and by users who sign in at them. */
export const directoryAttacks: readonly Attack[] = [
  {
    attack: 'runs a directory that returns the name and verified email of an internal user',
    outcome: 'gets an account of the directory',
    attempt: against(
      lying(() => [{ ...marissa, attributes: { ...marissa.attributes, title: ['true'] } }]),
      async api => {
        const hers = await api.server.store.users.findByName('svc', 'svc', 'marissa')
        assert.equal((await api.grant('marissa')).status, 200)
        const made = await api.account('marissa')
        assert.ok(made && made.id !== hers?.id && made.origin === 'ldap')
        assert.deepEqual(await api.server.store.users.findByName('svc', 'svc', 'marissa'), hers)
      },
      { config: { attributeMappings: { email_verified: 'title' } } },
    ),
  },
  {
    attack: 'runs a directory that returns administrative groups as scopes',
    outcome: 'grants no administrative group that the whitelist does not name',
    attempt: async () => {
      const description = ['svc.admin,scim.write, clients.admin', 'zones.svc.admin,cloud.read']
      let searches = 0
      const answer = lying(() => {
        searches += 1
        return searches % 2 === 1 ? [marissa] : [{ dn: 'cn=group', attributes: { cn: ['svc.admin'], description } }]
      })
      await against(
        answer,
        async api => {
          const { access_token: token } = tokensOf(await api.grant('marissa'))
          const { id = '' } = (await api.account('marissa')) ?? {}
          const groups = (await api.server.store.users.listGroups('svc', [id])).get(id) ?? []
          const names = groups.map(({ displayName }) => displayName)
          assert.ok(names.includes('cloud.read'), 'an ordinary group is one')
          assert.deepEqual(
            names.filter(name => /admin|scim\.write/.test(name)),
            [],
          )
          assert.equal((await api.server.send('/Users', { bearer: token })).status, 403)
        },
        { config: { ...AS_SCOPES, externalGroupsWhitelist: ['*'], maxGroupSearchDepth: 1 } },
      )()
    },
  },
  {
    attack: 'signs in with the email address “boss” of their own entry, to get the groups of the user of this name',
    outcome: 'groups are searched by the login name of the entry',
    attempt: async () => {
      let searches = 0
      const entry = { ...marissa, attributes: { uid: ['mallory'], mail: ['boss'], ...ID } }
      await against(
        lying(() => ((searches += 1) % 2 === 1 ? [entry] : [])),
        async (api, directory) => {
          assert.equal((await api.grant('boss')).status, 200)
          const [, member] = /memberUid[^a-z]+([a-z]+)/.exec(directory.received().toString('latin1')) ?? []
          assert.equal(member, 'mallory')
        },
        {
          config: {
            ...AS_SCOPES,
            userSearchFilter: '(|(uid={0})(mail={0}))',
            groupSearchFilter: '(memberUid={1})',
            maxGroupSearchDepth: 1,
          },
        },
      )()
    },
  },
  {
    attack: 'runs a directory, and collects wrong passwords of internal accounts',
    outcome: 'is never asked about an internal account, in standard (C14)',
    attempt: against(
      lying(() => []),
      async (api, directory) => {
        assert.equal((await api.grant('joel', { login_hint: '', password: 'hush-hush typo' })).status, 400)
        assert.equal(directory.connections.length, 0)
      },
      { modes: ['standard'] },
    ),
  },
  {
    attack: 'sends an empty password, blanks or a control character',
    outcome: 'is refused without asking the directory, which would accept an empty password',
    attempt: against(
      lying(() => [marissa]),
      async (api, directory) => {
        for (const password of ['', '\0', 'x\0', '\n'])
          assert.notEqual((await api.grant('marissa', { password })).status, 200)
        for (const name of [' ', 'marissa\0', 'mar\nissa']) assert.notEqual((await api.grant(name)).status, 200)
        assert.equal(directory.connections.length, 0)
      },
    ),
  },
  {
    attack: 'sends a user name with filter or DN syntax',
    outcome: 'the name is escaped, and unknown to the directory',
    attempt: against(
      lying(() => []),
      async (api, directory) => {
        for (const name of ['*', 'x)(|(cn=*', 'marissa,ou=people', '\\2a']) {
          assert.notEqual((await api.grant(name)).status, 200)
          // RFC 4511 §4.5.1.7: equality (0xa3) of `cn` and the exact input.
          const filter = element(0xa3, element(0x04, 'cn'), element(0x04, name))
          assert.ok(directory.received().includes(filter), name)
        }
      },
    ),
  },
  {
    attack: 'signs in with a user name that another entry had before',
    outcome: 'gets their own account, because the unique id of the entry differs',
    attempt: async () => {
      let uuid = '00000000-0000-4000-8000-000000000001'
      await against(
        lying(() => [{ ...marissa, attributes: { ...marissa.attributes, entryUUID: [uuid] } }]),
        async api => {
          uuid = '00000000-0000-4000-8000-000000000001'
          assert.equal((await api.grant('marissa')).status, 200)
          const first = await api.account('marissa')
          uuid = '00000000-0000-4000-8000-000000000002'
          const { access_token: token } = tokensOf(await api.grant('marissa', { scope: 'openid' }))
          const info = (await api.server.send('/userinfo', { bearer: token })).json()
          assert.notEqual(info['user_id'], first?.id)
        },
      )()
    },
  },
  {
    attack: 'returns hundreds of entries, malformed entries or an endless response',
    outcome: 'signs nobody in, and the server stays available',
    attempt: async () => {
      const wrong: readonly Answer[] = [
        lying(() => Array.from({ length: 300 }, (_, place) => ({ dn: `cn=${place}` }))),
        lying(() => [{ dn: '' }]),
        lying(() => [{ dn: 'cn=x', attributes: { cn: ['bad\u0007name'] } }]),
        socket => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
        (socket, { id, operation }) => {
          if (operation === BIND) return void socket.write(message(id, result(0x61)))
          return void socket.write(Buffer.alloc(2 * 1024 * 1024, message(id, foundEntry('cn=x'))))
        },
        socket => void socket.destroy(),
      ]
      for (const answer of wrong) {
        await against(
          answer,
          async api => {
            const refused = await api.grant('marissa')
            assert.ok(refused.status === 400 || refused.status === 401, refused.text)
            assert.equal((await api.grant('marissa', { login_hint: '', password: 'koala' })).status, 200)
          },
          { modes: ['standard'] },
        )()
      }
    },
  },
  {
    attack: 'returns a referral to another host',
    outcome: 'the server does not connect to it',
    attempt: async () => {
      const elsewhere = await startFakeDirectory(() => {})
      const reference = element(0x73, element(0x04, `${elsewhere.url}/dc=x`))
      const referral = element(0xa3, element(0x04, `${elsewhere.url}/dc=x`))
      const answers: readonly Answer[] = [
        (socket, { id, operation }) => {
          if (operation === BIND) return void socket.write(message(id, result(0x61)))
          return void socket.write(Buffer.concat([message(id, reference), message(id, result(0x65))]))
        },
        (socket, { id, operation }) =>
          void socket.write(message(id, operation === BIND ? result(0x61) : result(0x65, 10, referral))),
        (socket, { id }) => void socket.write(message(id, result(0x61, 10, referral))),
      ]
      for (const answer of answers) {
        await against(
          answer,
          async api => {
            assert.notEqual((await api.grant('marissa')).status, 200)
            assert.equal(elsewhere.connections.length, 0)
          },
          { modes: ['uaa'], config: { referral: 'follow' } },
        )()
      }
      await elsewhere.stop()
    },
  },
  {
    attack: 'guesses a password with spellings of the name that the directory treats as equal',
    outcome: 'all spellings share one lockout',
    attempt: against(
      lying(() => []),
      async api => {
        let status = 0
        const spellings = [
          (n: number) => `${' '.repeat(n)}marissa`,
          (n: number) => `mar${'\u00ad'.repeat(n)}issa`,
          (n: number) => `m${'\u0301'.repeat(n)}ARISSA`,
        ]
        for (let guess = 0; guess < 120 && status !== 429; guess += 1) {
          const name = spellings[guess % 3]?.(guess) ?? ''
          status = (await api.grant(name, { password: `${guess}` })).status
        }
        assert.equal(status, 429)
      },
      { modes: ['standard'] },
    ),
  },
  {
    attack: 'runs a directory that responds after its record was changed to another one',
    outcome: 'signs nobody in, and creates no account',
    attempt: async () => {
      for (const mode of MODES) {
        let change = async (): Promise<void> => {}
        const answer = lying(() => [marissa])
        const directory = await startFakeDirectory((socket, asked) => void change().then(() => answer(socket, asked)))
        const api = await startLdapServer(mode, { ...SEARCH, baseUrl: directory.url })
        try {
          change = async () => {
            change = async () => {}
            await api.configure({ ...SEARCH, baseUrl: 'ldap://localhost:9' })
          }
          assert.notEqual((await api.grant('marissa')).status, 200)
          assert.equal(await api.account('marissa'), undefined)
          assert.deepEqual(api.server.faults, [])
        } finally {
          await api.server.stop()
          await directory.stop()
        }
      }
    },
  },
  {
    attack: 'guesses passwords of LDAP users from one network',
    outcome: 'is rate-limited like for internal accounts',
    attempt: against(
      lying(() => []),
      async api => {
        let status = 0
        for (let guess = 0; guess < 200 && status !== 429; guess += 1)
          status = (
            await api.server.token({ grant_type: 'password', username: 'pat', password: `${guess}` }, { basic: APP })
          ).status
        assert.equal(status, 429)
      },
      { modes: ['standard'] },
    ),
  },
]
