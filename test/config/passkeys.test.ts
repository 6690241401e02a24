import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ConfigError, loadConfig } from '../../src/config.ts'
import { certify, pemOf } from '../support/attestation.ts'
import { authorizeBootstrap } from '../support/authorize.ts'
import { privatePem } from '../support/config.ts'
import { unescaped } from '../support/forms.ts'
import { setPolicy } from '../support/second-factor.ts'
import { startServer } from '../support/server.ts'

describe('passkeys.attestation_roots', () => {
  const root = certify({ commonName: 'Root', isAuthority: true })

  it('make the server request attestation', async () => {
    for (const [passkeys, attestation] of [
      [{ attestation_roots: pemOf(root) }, 'direct'],
      [undefined, 'none'],
    ] as const) {
      const config = { bootstrap: authorizeBootstrap, ...(passkeys && { passkeys }) }
      const server = await startServer({ config })
      await setPolicy(server, { requirement: 'required' })
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      const [, options = ''] = /data-options="([^"]*)"/.exec((await browser.send('/second_factor')).text) ?? []
      assert.equal(JSON.parse(unescaped(options))['attestation'], attestation)
      await server.stop()
    }
  })

  it('may be in a file, and must be certificates', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'latchkey-test-'))
    const load = async (passkeys: object) => {
      const config = join(folder, 'latchkey.json')
      await writeFile(config, JSON.stringify({ database: 'sqlite::memory:', passkeys }))
      return loadConfig({ options: { config }, env: {}, cwd: folder })
    }
    await writeFile(join(folder, 'roots.pem'), pemOf(root) + pemOf(certify({ commonName: 'Other' })))
    assert.equal((await load({ attestation_roots_file: 'roots.pem' })).passkeys.attestationRoots?.length, 2)
    assert.deepEqual((await load({})).passkeys, {})
    for (const wrong of [
      '',
      'roots',
      privatePem('ec', 'P-256'),
      pemOf(root) + privatePem('ec', 'P-256'),
      7,
      [pemOf(root)],
    ]) {
      await assert.rejects(
        load({ attestation_roots: wrong }),
        (error: unknown) =>
          error instanceof ConfigError && error.problems.some(({ key }) => key === 'passkeys.attestation_roots'),
        JSON.stringify(wrong),
      )
    }
    await rm(folder, { recursive: true })
  })
})
