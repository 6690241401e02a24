// Replaces the certificate of a running server when its files change. Connections stay as they are.
import { unwatchFile, watchFile } from 'node:fs'
import type { Server } from 'node:tls'
import type { Clock } from '../base/clock.ts'
import type { TlsFiles } from '../base/certificates/tls-files.ts'
import { certificateWarning, readTls } from '../base/certificates/tls-files.ts'

/** Both files are usually replaced one after the other. */
const LOOK_EVERY_MS = 2000

/** Keeps the old certificate, and logs that, while the new key and certificate do not match. */
export function reloadTlsFiles(
  server: Pick<Server, 'setSecureContext'>,
  files: TlsFiles,
  { log, clock }: { log: { info(message: string): void; warn(message: string): void }; clock: Clock },
): () => void {
  let current: string | undefined

  function reload(): void {
    const read = readTls(files)
    const text = JSON.stringify(read)
    if (text === current) return
    const isFirst = current === undefined
    current = text
    if (read.problem !== undefined) {
      log.warn(`TLS: the old certificate stays in use: ${files[read.of]} ${read.problem}`)
      return
    }
    server.setSecureContext({ ...read.context })
    if (isFirst) return // nearly always it is the one that the server was made with
    log.info('TLS: the new certificate is in use')
    const warning = certificateWarning(read.context.cert, { now: clock.now() })
    if (warning !== undefined) log.warn(`TLS: ${files.certificate} ${warning}; callers will refuse it`)
  }

  // By polling, not by notification: the files are often symbolic links into a volume, whose target is replaced elsewhere.
  const watched = [files.certificate, files.privateKey]
  for (const file of watched) watchFile(file, { interval: LOOK_EVERY_MS, persistent: false }, reload)
  reload() // the files may have changed since the server was made
  return () => {
    for (const file of watched) unwatchFile(file, reload)
  }
}
