import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { createRandom } from '../../src/base/random.ts'
import { createVault, digestKeyOf, masterKeyId, MissingMasterKey } from '../../src/base/secrets.ts'
import { listenForSighup } from '../../src/bootstrap/sighup.ts'
import { reloadMasterKeys } from '../../src/bootstrap/master-key-reload.ts'
import { openVault } from '../../src/bootstrap/vault.ts'
import { runMasterKeyAction } from '../../src/cli/keys/master-key-actions.ts'
import type { Config } from '../../src/config.ts'
import { loadConfig } from '../../src/config.ts'
import { createRecoveryCodes } from '../../src/factors/recovery-codes.ts'
import { openSamlKey } from '../../src/zones/saml-keys.ts'
import { openMail } from '../../src/mail/mailer.ts'
import { sealContexts } from '../../src/model/seal-contexts.ts'
import { openProviderSecrets } from '../../src/providers/provider-secrets.ts'
import { SEALED_KINDS } from '../../src/store/keys/sealed-store.ts'
import { openStore } from '../../src/store/open.ts'
import { AUTO_REQUEST } from '../support/authorize.ts'
import { certificateOf } from '../support/certificate.ts'
import { createTestClock } from '../support/clock.ts'
import { privatePem, temporaryFolder } from '../support/config.ts'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import type { TestDatabase } from '../support/databases.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'

const random = createRandom()
const [first, second, foreign] = [random.bytes(32), random.bytes(32), random.bytes(32)]
const [firstId, secondId, foreignId] = [first, second, foreign].map(masterKeyId) as [string, string, string]

const SECRET = 'of the provider'
const samlPem = privatePem('rsa', 2048)
const config = {
  zone_config: { secondFactor: { rememberDays: 30 } },
  saml: { active: 'one', keys: { one: { pem: samlPem, cert: certificateOf(samlPem) } } },
  bootstrap: {
    ...defaultBootstrap,
    clients: [
      ...defaultBootstrap.clients,
      {
        client_id: 'pairwise',
        client_secret: 'pairwise-secret',
        authorized_grant_types: ['authorization_code', 'refresh_token'],
        scope: ['openid'],
        redirect_uri: ['https://pairwise.example/cb'],
        autoapprove: true,
        subject_type: 'pairwise',
      },
    ],
    identity_providers: [
      {
        originKey: 'corp',
        type: 'oidc1.0',
        name: 'Corp',
        config: {
          discoveryUrl: 'https://corp.example/.well-known/openid-configuration',
          relyingPartyId: 'latchkey',
          relyingPartySecret: SECRET,
        },
      },
    ],
  },
}

/** The configuration of the command. */
const ofCommand = async (database: string, ...keys: readonly Buffer[]): Promise<Config> => ({
  ...(await loadConfig({ options: { database }, env: {} })),
  masterKey: { from: 'value', keys },
})

for (const kind of DATABASE_KINDS) {
  describe(`Replacing the master key on ${kind}`, () => {
    const clock = createTestClock()
    let database: TestDatabase
    /** Nodes on one database; `old` has the keys in the order of before. */
    let old: TestServer
    let node: TestServer
    let browser: Browser
    let refreshToken: string
    let subject: string
    let userId: string
    let recoveryCodes: readonly string[]
    const start = (...masterKeys: readonly Buffer[]) =>
      startServer({ database: database.url, config, clock, masterKeys })
    const act = async (action: 'check' | 'reseal', ...keys: readonly Buffer[]) =>
      runMasterKeyAction(await ofCommand(database.url, ...keys), action)

    const tokens = async (server: TestServer, at: Browser, id: string) => {
      const request = { ...AUTO_REQUEST, client_id: id, redirect_uri: `https://${id}.example/cb`, scope: 'openid' }
      const code = (await at.send('/oauth/authorize', { query: request })).location().searchParams.get('code') ?? ''
      const form = { grant_type: 'authorization_code', code, redirect_uri: request.redirect_uri }
      const answer = await server.token(form, { basic: [id, `${id}-secret`] })
      assert.equal(answer.status, 200, answer.text)
      return answer.json<{ refresh_token: string; id_token: string }>()
    }
    /** The same cookies at another node. */
    const browserAt = (server: TestServer): Browser => {
      const other = server.browser()
      for (const [name, value] of browser.cookies) other.cookies.set(name, value)
      return other
    }

    before(async () => {
      database = await freshDatabase(kind)
      old = await start(first)
      browser = old.browser()
      await browser.signIn('marissa', 'koala')
      refreshToken = (await tokens(old, browser, 'auto')).refresh_token
      const sub = decodeJwt((await tokens(old, browser, 'pairwise')).id_token).sub
      assert.ok(sub)
      subject = sub
      const { store, vault } = old
      const user = await store.users.findByName('svc', 'svc', 'marissa')
      const other = await store.users.findByName('svc', 'svc', 'joel')
      assert.ok(user && other && user.id !== subject)
      userId = other.id // with a second factor
      recoveryCodes = (await createRecoveryCodes({ store, clock, random, vault }).renew('svc', userId)) ?? []
      const sealedSecret = vault.seal('JBSWY3DP', sealContexts.oneTimePasswords('svc', userId))
      await store.factors.setTotp('svc', userId, { sealedSecret, lastStep: 0, createdAt: clock.now() })
      await browser.send('/forgot_password.do', { form: { username: 'marissa', 'X-Svc-Csrf': browser.csrf } })
      assert.equal((await old.mails()).length, 1)
      const [session] = await store.sessions.listOfUser('svc', user.id, clock.now())
      assert.ok(session?.signIn)
      const { signIn } = session
      const sealedLogoutHint = vault.seal('hint', sealContexts.idTokenOfSession('svc', signIn.sessionSalt))
      await store.sessions.replace('svc', session.idDigest, { ...session, signIn, sealedLogoutHint })
      assert.deepEqual(vault.keyIds, [firstId])
      for (const each of SEALED_KINDS) assert.notEqual((await store.sealed.page(each, { count: 9 })).length, 0, each)
    })
    after(async () => {
      const faults = [...old.faults, ...node.faults]
      assert.ok(faults.length === 1 && faults[0] instanceof MissingMasterKey, String(faults))
      await old.stop()
      await node.stop()
      await database.drop()
    })

    /** State that a rotation must not change. */
    async function everythingGoesOn(): Promise<void> {
      for (const server of [old, node]) {
        const account = browserAt(server)
        assert.equal((await account.send('/profile')).status, 200)
        assert.equal(decodeJwt((await tokens(server, account, 'pairwise')).id_token).sub, subject)
        const { store, vault } = server
        const answer = await server.token(
          { grant_type: 'refresh_token', refresh_token: refreshToken },
          { basic: ['auto', 'auto-secret'] },
        )
        assert.equal(answer.status, 200, answer.text)
        refreshToken = answer.json<{ refresh_token: string }>().refresh_token
        const [code = '', ...others] = recoveryCodes
        recoveryCodes = others
        const used = await createRecoveryCodes({ store, clock, random, vault }).use('svc', userId, code)
        assert.equal(used?.kind, 'recovery')
        const corp = await store.providers.findByOrigin('svc', 'corp')
        assert.equal(corp && openProviderSecrets(corp, vault).config['relyingPartySecret'], SECRET)
        const samlKey = (await store.zones.find('svc'))?.config.samlConfig?.keys?.['one']
        assert.match((samlKey && openSamlKey('svc', 'one', samlKey, vault)) ?? '', /PRIVATE KEY/)
        const totp = await store.factors.totpOf('svc', userId)
        assert.equal(vault.open(totp?.sealedSecret ?? '', sealContexts.oneTimePasswords('svc', userId)), 'JBSWY3DP')
        const [mail] = await store.mails.newest(1)
        assert.match(mail ? openMail(vault, mail).text : '', /password/)
      }
    }

    it('nodes with old and new order of keys open each other’s values', async () => {
      old.vault.useKeys([first, second])
      node = await start(second, first)
      await everythingGoesOn()
      const sealed = node.vault.seal('new', 'here')
      assert.ok(sealed.startsWith(`v2.${secondId}.`))
      assert.equal(old.vault.open(sealed, 'here'), 'new')
    })

    it('values are counted by key', async () => {
      const { output, isDone } = await act('check', second, first)
      assert.equal(isDone, false)
      const kinds = String(SEALED_KINDS.length)
      assert.match(output, new RegExp(`^KEY +VALUES  STATE\n${secondId} +0  seals\n${firstId} +${kinds}  opens\n$`))
    })

    it('the new key alone is rejected until every value is sealed with it', async () => {
      await assert.rejects(
        start(second),
        new RegExp(`not the one that this database was made with: it needs the key ${firstId}`),
      )
    })

    it('an interrupted run is continued without repeating work', async () => {
      const [row] = await old.store.sealed.page('mail', { count: 1 })
      assert.ok(row)
      const context = sealContexts.mail(row)
      const replacement = node.vault.seal(node.vault.open(row.sealed, context), context)
      assert.equal(await node.store.sealed.replace('mail', [{ ...row, replacement }]), 1)
      assert.equal(await node.store.sealed.replace('mail', [{ ...row, replacement: 'late' }]), 0, 'changed meanwhile')
      const { output, isDone } = await act('reseal', second, first)
      assert.match(output, new RegExp(`^Re-encrypted ${SEALED_KINDS.length - 1} records\\.\n`))
      assert.equal(isDone, true)
      assert.match((await act('reseal', second, first)).output, /^Re-encrypted 0 records/)
      assert.equal((await act('check', second)).isDone, true)
      old.vault.useKeys([second, first])
      await everythingGoesOn()
    })

    it('the previous key can be removed', async () => {
      const deadline = performance.now() + 5000
      const isHeard = async ({ store }: TestServer): Promise<boolean> =>
        JSON.stringify((await store.providers.findByOrigin('svc', 'corp'))?.config).includes(`v2.${secondId}.`)
      while (!((await isHeard(old)) && (await isHeard(node)))) {
        assert.ok(performance.now() < deadline, 'a node was not notified')
        await new Promise(resolve => setTimeout(resolve, 20))
      }
      old.vault.useKeys([second])
      node.vault.useKeys([second])
      await everythingGoesOn()
      await assert.rejects(start(first), new RegExp(`it needs the key ${secondId}`))
    })

    it('a lost key is named, and its values cannot be opened', async () => {
      const context = sealContexts.oneTimePasswords('svc', userId)
      const [row] = await node.store.sealed.page('one-time-passwords', { count: 1 })
      assert.ok(row)
      const replacement = createVault(foreign, random).seal('JBSWY3DP', context)
      await node.store.sealed.replace('one-time-passwords', [{ ...row, replacement }])
      assert.throws(() => node.vault.open(replacement, context), new RegExp(`the master key ${foreignId}, which`))
      const { output, isDone } = await act('reseal', second)
      assert.equal(isDone, false)
      assert.match(
        output,
        new RegExp(`${foreignId} +1  missing\nNo master key opens:\n  one-time-passwords svc ${userId}\n`),
      )
      const altered = { ...row, sealed: replacement, replacement: `${row.sealed.slice(0, -4)}AAAA` }
      await node.store.sealed.replace('one-time-passwords', [altered])
      assert.match((await act('check', second)).output, /damaged +1 {2}was altered/)
      const [key] = await node.store.sealed.page('signing-key', { count: 1 })
      assert.ok(key)
      const lost = createVault(foreign, random).seal('a key', sealContexts.signingKey(key.zoneId, key.id))
      await node.store.sealed.replace('signing-key', [{ ...key, replacement: lost }])
      const basic = ['service', 'service-secret'] as const
      const refused = await node.token({ grant_type: 'client_credentials' }, { basic })
      assert.deepEqual([refused.status, refused.json()['error']], [500, 'server_error'])
    })
  })
}

describe('A database of an earlier version', () => {
  it('keeps the digests of its master key, in any order of keys', async () => {
    const store = await openStore('sqlite::memory:', { clock: createTestClock() })
    try {
      const before = createVault(first, random)
      await store.bootstrap.remember('svc', 'master-key', 'check', before.keyedDigest('master-key check'))
      const given = { store, random, service: 'svc' }
      const vault = await openVault({ ...given, masterKeys: [second, first] })
      assert.equal(vault.keyedDigest('text'), before.keyedDigest('text'))
      assert.deepEqual(vault.keyIds, [secondId, firstId])
      await assert.rejects(openVault({ ...given, masterKeys: [second] }), /the master key is not the one/)
    } finally {
      await store.close()
    }
  })

  it('has values that do not name their key', () => {
    const vault = createVault([second, first], random, digestKeyOf(first))
    const [, , text = ''] = createVault(first, random).seal('plain', 'context').split('.')
    assert.equal(vault.open(`v1.${text}`, 'context'), 'plain')
    assert.equal(vault.keyOf(`v1.${text}`, 'context'), firstId)
    assert.throws(() => createVault(second, random).open(`v1.${text}`, 'context'), /its master key is missing/)
  })
})

describe('The master keys of a running server', () => {
  const folder = temporaryFolder()
  const hex = (...keys: readonly Buffer[]): string => keys.map(key => `${key.toString('hex')}\n`).join('')

  it('are reloaded on a file change or SIGHUP, unless they do not fit', async () => {
    const path = join(folder, 'keys')
    writeFileSync(path, hex(first))
    const store = await openStore('sqlite::memory:', { clock: createTestClock() })
    const vault = createVault(first, random)
    const digests = { name: 'digests', sealedPrivateKey: vault.sealedDigestKey(), certificate: '' }
    await store.serverKeys.saveFirst({ ...digests, createdAt: new Date(0) })
    const lines: string[] = []
    let heard = (): void => {}
    const note = (line: string): void => {
      lines.push(line)
      heard()
    }
    /** The line logged in response. */
    const answer = async (happens: () => void): Promise<string | undefined> => {
      const deadline = setTimeout(() => heard(), 20_000) // and keeps the process: files are watched without
      const isHeard = new Promise<void>(resolve => {
        heard = resolve
      })
      happens()
      await isHeard
      clearTimeout(deadline)
      return lines.at(-1)
    }
    const deps = { store, vault, random, log: { info: note, warn: note } }
    const database = 'sqlite::memory:'
    const stops = [
      reloadMasterKeys({ ...deps, sighup: undefined, config: { database, masterKey: { from: 'file', path } } }),
      reloadMasterKeys({
        ...deps,
        sighup: listenForSighup(),
        config: { database, masterKey: { from: 'command', command: ['cat', 'keys'], folder, env: {} } },
      }),
    ]
    try {
      const changed = await answer(() => writeFileSync(path, hex(first, second)))
      assert.equal(changed, `master key: ${firstId} encrypts from now on; only for decryption: ${secondId}`)
      const stays = 'master key: the previous keys stay in use: '
      const hangUp = (text: string) =>
        answer(() => {
          writeFileSync(path, text)
          process.emit('SIGHUP')
        })
      stops[0]?.()
      assert.equal(await hangUp(hex(second)), `${stays}none of them opens the database: it needs the key ${firstId}`)
      assert.match((await hangUp('short')) ?? '', /stay in use: the output of master_key_command: must be 32 bytes/)
      assert.deepEqual(vault.keyIds, [firstId, secondId])
      assert.equal(
        await hangUp(hex(second, first)),
        `master key: ${secondId} encrypts from now on; only for decryption: ${firstId}`,
      )
      assert.ok(vault.seal('a', 'b').startsWith(`v2.${secondId}.`))
    } finally {
      for (const stop of stops) stop()
      await store.close()
    }
  })
})
