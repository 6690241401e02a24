// Messages for operators about files that cannot be used.

/** The cause, without its code and without the name of the file. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  switch ('code' in error ? error.code : undefined) {
    case 'ENOENT':
      return 'no such file'
    case 'EISDIR':
      return 'it is a directory'
    case 'ENOTDIR':
      return 'its parent is not a directory'
    case 'EACCES':
    case 'EPERM':
      return 'permission denied'
    case 'EROFS':
      return 'the disk is read-only'
    case 'ENOSPC':
      return 'the disk is full'
    default:
      return error.message
  }
}
