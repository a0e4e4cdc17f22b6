/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The secret that admits ranks to a tcp rendezvous: what the user gave, or a cookie file that all
 * processes of one user share through their home directory. The cookie appears complete or not at
 * all: it is written without a name and linked into place, and the first one stays.
 */
#include "config.h"

#include "rt/rt_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/settings.h"
#include "rt/auth.h"

#define SECRET_TEXT_MAX 4096
#define COOKIE_TEXT_BYTES (2 * MCI_RT_SECRET_BYTES + 1) /* hex and a newline */

/* Any text becomes a key; white space at its end (a file's newline) does not count. */
static void secret_from_text(const char *text, size_t nbytes, uint8_t secret[MCI_RT_SECRET_BYTES])
{
    static const uint8_t no_key[MCI_RT_SECRET_BYTES];

    while (nbytes > 0 && strchr(" \t\r\n", text[nbytes - 1]) != NULL)
        nbytes--;
    mci_auth_mac(secret, no_key, text, nbytes);
}

static mcomm_err_t check_file(int fd, const char *path, mode_t forbidden)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return mci_err_sys(MCOMM_ERR_AUTH, errno, "secret file %s", path);
    if (!S_ISREG(st.st_mode))
        return mci_err_set(MCOMM_ERR_AUTH, "secret file %s is not a regular file", path);
    if ((st.st_mode & forbidden) != 0)
        return mci_err_set(MCOMM_ERR_AUTH,
                           "secret file %s may be read or written by others (mode "
                           "%03o): chmod 600 it, and make a new secret if others may know this one",
                           path, (unsigned)st.st_mode & 0777u);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return mci_err_set(MCOMM_ERR_AUTH, "secret file %s belongs to user %u, not to %u", path,
                           (unsigned)st.st_uid, (unsigned)geteuid());
    return MCOMM_SUCCESS;
}

/* MCOMM_ERR_NOT_FOUND, without an error text, if there is no such file. */
static mcomm_err_t read_file(const char *path, mode_t forbidden,
                             uint8_t secret[MCI_RT_SECRET_BYTES])
{
    char text[SECRET_TEXT_MAX];
    size_t got = 0;
    ssize_t n = 1;
    mcomm_err_t err;
    int fd;

    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT)
        return MCOMM_ERR_NOT_FOUND;
    if (fd < 0)
        return mci_err_sys(MCOMM_ERR_AUTH, errno, "secret file %s", path);
    err = check_file(fd, path, forbidden);
    while (err == MCOMM_SUCCESS && n > 0 && got < sizeof(text)) {
        n = read(fd, text + got, sizeof(text) - got);
        if (n < 0 && errno != EINTR)
            err = mci_err_sys(MCOMM_ERR_AUTH, errno, "secret file %s", path);
        got += n > 0 ? (size_t)n : 0;
        n = n < 0 ? 1 : n;
    }
    close(fd);
    if (err == MCOMM_SUCCESS && (got < 16 || got == sizeof(text)))
        err = mci_err_set(MCOMM_ERR_AUTH, "secret file %s holds %zu bytes: need 16 to %d", path,
                          got, SECRET_TEXT_MAX - 1);
    if (err == MCOMM_SUCCESS)
        secret_from_text(text, got, secret);
    explicit_bzero(text, sizeof(text));
    return err;
}

static mcomm_err_t no_secret(const char *why)
{
    return mci_err_set(
        MCOMM_ERR_AUTH,
        "no secret for the rendezvous: %s; set MCOMM_SECRET to the same random text "
        "on all ranks (openssl rand -hex 32), or MCOMM_SECRET_FILE to a file with it",
        why);
}

/* $XDG_CONFIG_HOME or $HOME/.config, then our folder; made if missing. */
static mcomm_err_t cookie_folder(char path[PATH_MAX])
{
    const char *base = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    char why[256];
    int n;

    if (base != NULL && base[0] == '/') {
        n = snprintf(path, PATH_MAX, "%s", base);
    } else if (home != NULL && home[0] == '/') {
        n = snprintf(path, PATH_MAX, "%s/.config", home);
    } else {
        return no_secret("neither HOME nor XDG_CONFIG_HOME is set");
    }
    if (n > PATH_MAX - 64)
        return no_secret("the home directory's path is too long");
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        goto failed;
    strcat(path, "/mooncake_comm");
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        goto failed;
    return MCOMM_SUCCESS;

failed:
    snprintf(why, sizeof(why), "cannot make %.150s (%s)", path, strerror(errno));
    return no_secret(why);
}

static bool write_cookie(int fd)
{
    uint8_t random[MCI_RT_SECRET_BYTES];
    char text[COOKIE_TEXT_BYTES + 1];

    if (mci_random(random, sizeof(random)) != MCOMM_SUCCESS)
        return false;
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(text + 2 * i, 3, "%02x", random[i]);
    text[COOKIE_TEXT_BYTES - 1] = '\n';
    return write(fd, text, COOKIE_TEXT_BYTES) == COOKIE_TEXT_BYTES && fsync(fd) == 0;
}

/* Whether the file is there afterwards, by us or by another process in the same moment. */
static bool make_cookie_unnamed(const char *folder, const char *path)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char self[64];
    bool is_there;

    if (fd < 0)
        return false;
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    is_there = write_cookie(fd) &&
               (linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 || errno == EEXIST);
    close(fd);
    return is_there;
}

/* Where the file system has no unnamed files (NFS). */
static bool make_cookie_named(const char *folder, const char *path)
{
    char temp[PATH_MAX + 64];
    bool is_there;
    int fd;

    snprintf(temp, sizeof(temp), "%s/.secret.XXXXXX", folder);
    fd = mkostemp(temp, O_CLOEXEC); /* O_EXCL, 0600 */
    if (fd < 0)
        return false;
    is_there = write_cookie(fd) && (link(temp, path) == 0 || errno == EEXIST);
    unlink(temp);
    close(fd);
    return is_there;
}

static mcomm_err_t cookie_secret(uint8_t secret[MCI_RT_SECRET_BYTES])
{
    char folder[PATH_MAX], path[PATH_MAX + 16], why[256];
    mcomm_err_t err;

    err = cookie_folder(folder);
    if (err != MCOMM_SUCCESS)
        return err;
    snprintf(path, sizeof(path), "%s/secret", folder);
    err = read_file(path, 0077, secret);
    if (err != MCOMM_ERR_NOT_FOUND)
        return err;
    if (!make_cookie_unnamed(folder, path) && !make_cookie_named(folder, path)) {
        snprintf(why, sizeof(why), "cannot make %.150s (%s)", path, strerror(errno));
        return no_secret(why);
    }
    err = read_file(path, 0077, secret);
    return err == MCOMM_ERR_NOT_FOUND ? no_secret("the cookie file vanished") : err;
}

mcomm_err_t mci_rt_secret(uint8_t secret[MCI_RT_SECRET_BYTES])
{
    const char *text = mci_settings.secret;
    const char *path = mci_settings.secret_file;
    mcomm_err_t err;

    if (text != NULL && text[0] != '\0') {
        if (strlen(text) < 16)
            return mci_err_set(MCOMM_ERR_AUTH, "MCOMM_SECRET has %zu characters: need at least 16",
                               strlen(text));
        secret_from_text(text, strlen(text), secret);
        return MCOMM_SUCCESS;
    }
    if (path == NULL || path[0] == '\0')
        return cookie_secret(secret);
    err = read_file(path, 0007, secret);
    if (err == MCOMM_ERR_NOT_FOUND)
        return mci_err_set(MCOMM_ERR_AUTH, "MCOMM_SECRET_FILE=%s: no such file", path);
    return err;
}
