/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Cartesian topologies: arithmetic on ranks, the last dimension fastest. Ranks are not reordered.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi_priv.h"

void mpi_cart_free(struct cart *cart)
{
    free(cart);
}

static struct cart *cart_new(int ndims)
{
    struct cart *cart = calloc(1, sizeof(*cart) + 3 * (size_t)ndims * sizeof(int));

    if (cart == NULL)
        return NULL;
    cart->ndims = ndims;
    cart->dims = (int *)(cart + 1);
    cart->periods = cart->dims + ndims;
    cart->coords = cart->periods + ndims;
    return cart;
}

static void coords_of(const struct cart *cart, int rank, int maxdims, int *coords)
{
    for (int i = cart->ndims - 1; i >= 0; i--) {
        if (i < maxdims)
            coords[i] = rank % cart->dims[i];
        rank /= cart->dims[i];
    }
}

/* MPI_PROC_NULL: outside */
static int rank_of(const struct cart *cart, const int *coords)
{
    int rank = 0;

    for (int i = 0; i < cart->ndims; i++) {
        int at = coords[i], dim = cart->dims[i];

        if (cart->periods[i])
            at = (at % dim + dim) % dim;
        else if (at < 0 || at >= dim)
            return MPI_PROC_NULL;
        rank = rank * dim + at;
    }
    return rank;
}

#define GET_CART(comm, cart, handle)                                                               \
    GET_COMM(comm, handle);                                                                        \
    struct cart *cart = comm->cart;                                                                \
    if (cart == NULL)                                                                              \
    return mpi_fail(&comm->owner, MPI_ERR_TOPOLOGY, "comm has no Cartesian topology")

/* Number of places, -1: dims are not valid */
static int64_t places(int ndims, const int *dims)
{
    int64_t num = 1;

    for (int i = 0; i < ndims; i++) {
        if (dims[i] <= 0 || num > INT32_MAX)
            return -1;
        num *= dims[i];
    }
    return num;
}

static int dims_check(const struct comm *comm, int ndims, const int *dims)
{
    int64_t num = ndims >= 0 ? places(ndims, dims) : -1;

    if (num < 0)
        return mpi_fail(&comm->owner, ndims < 0 ? MPI_ERR_DIMS : MPI_ERR_ARG,
                        "ndims %d, or one of dims below 1", ndims);
    if (num > comm->size)
        return mpi_fail(&comm->owner, MPI_ERR_DIMS, "dims have %lld places, comm %d ranks",
                        (long long)num, comm->size);
    return MPI_SUCCESS;
}

DEF(int, Cart_create,
    (MPI_Comm handle, int ndims, const int dims[], const int periods[], int reorder,
     MPI_Comm *handle_p))
{
    struct comm *made;
    struct cart *cart;
    int code, num;

    (void)reorder;
    GET_COMM(comm, handle);
    code = dims_check(comm, ndims, dims);
    if (code != MPI_SUCCESS)
        return code;
    num = (int)places(ndims, dims);
    cart = cart_new(ndims);
    if (cart == NULL)
        return mpi_no_mem(&comm->owner, sizeof(*cart));
    code = PMPI_Comm_split(handle, comm->rank < num ? 0 : MPI_UNDEFINED, 0, handle_p);
    if (code != MPI_SUCCESS || *handle_p == MPI_COMM_NULL) {
        mpi_cart_free(cart);
        return code;
    }
    made = mpi_comm_get(*handle_p);
    for (int i = 0; i < ndims; i++) {
        cart->dims[i] = dims[i];
        cart->periods[i] = periods[i] != 0;
    }
    coords_of(cart, made->rank, ndims, cart->coords);
    made->cart = cart;
    return MPI_SUCCESS;
}

DEF(int, Cart_map,
    (MPI_Comm handle, int ndims, const int dims[], const int periods[], int *newrank))
{
    int code;

    (void)periods;
    GET_COMM(comm, handle);
    code = dims_check(comm, ndims, dims);
    if (code == MPI_SUCCESS)
        *newrank = comm->rank < places(ndims, dims) ? comm->rank : MPI_UNDEFINED;
    return code;
}

DEF(int, Cart_sub, (MPI_Comm handle, const int remain_dims[], MPI_Comm *handle_p))
{
    struct cart *sub;
    int colour = 0, ndims = 0, code;

    GET_CART(comm, cart, handle);
    for (int i = 0; i < cart->ndims; i++) {
        if (remain_dims[i])
            ndims++;
        else
            colour = colour * cart->dims[i] + cart->coords[i];
    }
    sub = cart_new(ndims);
    if (sub == NULL)
        return mpi_no_mem(&comm->owner, sizeof(*sub));
    code = PMPI_Comm_split(handle, colour, 0, handle_p);
    if (code != MPI_SUCCESS) {
        mpi_cart_free(sub);
        return code;
    }
    for (int i = 0, at = 0; i < cart->ndims; i++) {
        if (!remain_dims[i])
            continue;
        sub->dims[at] = cart->dims[i];
        sub->periods[at] = cart->periods[i];
        sub->coords[at++] = cart->coords[i];
    }
    mpi_comm_get(*handle_p)->cart = sub;
    return MPI_SUCCESS;
}

DEF(int, Topo_test, (MPI_Comm handle, int *status))
{
    GET_COMM(comm, handle);
    *status = comm->cart != NULL ? MPI_CART : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

DEF(int, Cartdim_get, (MPI_Comm handle, int *ndims))
{
    GET_CART(comm, cart, handle);
    *ndims = cart->ndims;
    return MPI_SUCCESS;
}

DEF(int, Cart_get, (MPI_Comm handle, int maxdims, int dims[], int periods[], int coords[]))
{
    size_t nbytes;

    GET_CART(comm, cart, handle);
    nbytes = (size_t)MAX(0, MIN(maxdims, cart->ndims)) * sizeof(int);
    memcpy(dims, cart->dims, nbytes);
    memcpy(periods, cart->periods, nbytes);
    memcpy(coords, cart->coords, nbytes);
    return MPI_SUCCESS;
}

DEF(int, Cart_rank, (MPI_Comm handle, const int coords[], int *rank))
{
    int at;

    GET_CART(comm, cart, handle);
    at = rank_of(cart, coords);
    if (at == MPI_PROC_NULL)
        return mpi_fail(&comm->owner, MPI_ERR_ARG, "coords are outside a dimension without period");
    *rank = at;
    return MPI_SUCCESS;
}

DEF(int, Cart_coords, (MPI_Comm handle, int rank, int maxdims, int coords[]))
{
    GET_CART(comm, cart, handle);
    if (rank < 0 || rank >= comm->size)
        return mpi_fail(&comm->owner, MPI_ERR_RANK, "rank %d of %d", rank, comm->size);
    coords_of(cart, rank, maxdims, coords);
    return MPI_SUCCESS;
}

static int neighbour(const struct cart *cart, int direction, int disp)
{
    int here = cart->coords[direction], rank;

    cart->coords[direction] = here + disp;
    rank = rank_of(cart, cart->coords);
    cart->coords[direction] = here;
    return rank;
}

DEF(int, Cart_shift, (MPI_Comm handle, int direction, int disp, int *source, int *dest))
{
    GET_CART(comm, cart, handle);
    if (direction < 0 || direction >= cart->ndims)
        return mpi_fail(&comm->owner, MPI_ERR_DIMS, "direction %d of %d dimensions", direction,
                        cart->ndims);
    *source = neighbour(cart, direction, -disp);
    *dest = neighbour(cart, direction, disp);
    return MPI_SUCCESS;
}

/* ---- dimensions that are near each other ---- */
/* num as ndims factors, none larger than `most` and none than the one before, the first as small as
 * can be. */
static bool factors(int num, int ndims, int most, int *dims)
{
    if (ndims == 1) {
        dims[0] = num;
        return num <= most;
    }
    /* from the root upwards: the smallest first factor that the rest can follow */
    for (int first = 1; first <= MIN(num, most); first++) {
        double rest = 1;

        if (num % first != 0)
            continue;
        for (int i = 0; i < ndims && rest < num; i++)
            rest *= first;
        if (rest < num)
            continue;
        dims[0] = first;
        if (factors(num / first, ndims - 1, first, dims + 1))
            return true;
    }
    return false;
}

DEF(int, Dims_create, (int nnodes, int ndims, int dims[]))
{
    int num_free = 0, at = 0, *found;
    int64_t given = 1;

    if (nnodes < 1 || ndims < 0)
        return mpi_fail(NULL, MPI_ERR_DIMS, "nnodes %d, ndims %d", nnodes, ndims);
    for (int i = 0; i < ndims; i++) {
        if (dims[i] < 0)
            return mpi_fail(NULL, MPI_ERR_DIMS, "dims[%d] = %d", i, dims[i]);
        if (dims[i] == 0)
            num_free++;
        else
            given *= dims[i];
        if (given > nnodes)
            break;
    }
    if (nnodes % given != 0 || (num_free == 0 && given != nnodes && ndims > 0))
        return mpi_fail(NULL, MPI_ERR_DIMS, "nnodes %d is no multiple of the given dims", nnodes);
    if (num_free == 0)
        return MPI_SUCCESS;
    found = malloc((size_t)num_free * sizeof(*found));
    if (found == NULL)
        return mpi_no_mem(NULL, sizeof(*found));
    factors((int)(nnodes / given), num_free, nnodes, found);
    for (int i = 0; i < ndims; i++) {
        if (dims[i] == 0)
            dims[i] = found[at++];
    }
    free(found);
    return MPI_SUCCESS;
}
